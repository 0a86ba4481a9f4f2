// Line ends and indentation of .got. A block opens where a line is indented more than the one before and closes
// where one is indented less; lines with only a comment do not count. Inside brackets the parser asks for none of
// these, so line ends there are blanks.

#include "tree_sitter/parser.h"

#include <stdlib.h>
#include <string.h>

enum Token { NEWLINE, INDENT, DEDENT, ERROR };

enum { DEEPEST = 128 };

typedef struct {
  uint16_t columns[DEEPEST];
  uint16_t depth;
} Scanner;

void *tree_sitter_got_external_scanner_create(void) {
  return calloc(1, sizeof(Scanner));
}

void tree_sitter_got_external_scanner_destroy(void *payload) {
  free(payload);
}

unsigned tree_sitter_got_external_scanner_serialize(void *payload, char *buffer) {
  Scanner *scanner = payload;
  unsigned size = scanner->depth * sizeof(uint16_t);
  memcpy(buffer, scanner->columns, size);
  return size;
}

void tree_sitter_got_external_scanner_deserialize(void *payload, const char *buffer, unsigned size) {
  Scanner *scanner = payload;
  scanner->depth = size / sizeof(uint16_t);
  if (size > 0) memcpy(scanner->columns, buffer, size);
}

bool tree_sitter_got_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid) {
  Scanner *scanner = payload;
  bool recovering = valid[ERROR];
  bool line_ended = false;
  int column = 0;
  int first_comment = -1;

  lexer->mark_end(lexer);
  for (;;) {
    if (lexer->lookahead == '\n') {
      line_ended = true;
      column = 0;
      lexer->advance(lexer, true);
    } else if (lexer->lookahead == ' ' || lexer->lookahead == '\t') {
      column += lexer->lookahead == '\t' ? 8 : 1;
      lexer->advance(lexer, true);
    } else if (lexer->lookahead == '\r') {
      lexer->advance(lexer, true);
    } else if (lexer->lookahead == '#') {
      if (!line_ended) return false;
      if (first_comment < 0) first_comment = column;
      while (lexer->lookahead && lexer->lookahead != '\n') lexer->advance(lexer, true);
    } else if (lexer->eof(lexer)) {
      line_ended = true;
      column = 0;
      break;
    } else {
      break;
    }
  }
  if (!line_ended) return false;

  int top = scanner->depth ? scanner->columns[scanner->depth - 1] : 0;
  if (valid[NEWLINE] && !recovering) {
    lexer->result_symbol = NEWLINE;
    return true;
  }
  if (valid[INDENT] && !recovering && column > top && scanner->depth < DEEPEST) {
    scanner->columns[scanner->depth++] = column;
    lexer->result_symbol = INDENT;
    return true;
  }
  // A comment that is indented like the block belongs to it.
  if (valid[DEDENT] && scanner->depth && column < top && (first_comment < top || recovering)) {
    scanner->depth--;
    lexer->result_symbol = DEDENT;
    return true;
  }
  return false;
}

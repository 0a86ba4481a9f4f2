-- A session of Neovim's own client, driven without a screen: opens files, edits, asks, and writes what it saw as
-- JSON to the file that GOT_OUT names. The files to open are the lines of GOT_FILES, the server is GOT_SERVER.
local out = { diagnostics = {}, answers = {} }
local published = {}

local function finish()
  vim.fn.writefile({ vim.fn.json_encode(out) }, vim.env.GOT_OUT)
  vim.cmd("qa!")
end

local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then
    out.failed = "waited in vain for " .. what
    finish()
  end
end

local client = vim.lsp.start_client({
  name = "gotc",
  cmd = vim.split(vim.env.GOT_SERVER, "\n"),
  root_dir = vim.env.GOT_ROOT,
  handlers = {
    ["textDocument/publishDiagnostics"] = function(error, result, context, config)
      published[result.uri] = (published[result.uri] or 0) + 1
      vim.lsp.diagnostic.on_publish_diagnostics(error, result, context, config)
    end,
  },
})

local function open(path)
  vim.cmd("edit " .. vim.fn.fnameescape(path))
  local buffer = vim.api.nvim_get_current_buf()
  vim.lsp.buf_attach_client(buffer, client)
  return buffer
end

local function diagnostics(buffer)
  local found = {}
  for _, d in ipairs(vim.diagnostic.get(buffer)) do
    table.insert(found, { code = d.code, line = d.lnum, column = d.col, message = d.message })
  end
  return found
end

local function ask(buffer, method, line, column, more)
  local params = vim.tbl_extend("force", {
    textDocument = vim.lsp.util.make_text_document_params(buffer),
    position = { line = line, character = column },
  }, more or {})
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 20000) or {}
  return answers[client] and answers[client].result
end

local function run()
  local started = vim.lsp.get_client_by_id(client)
  wait("the server", function()
    return started.initialized
  end)
  -- Every program: diagnostics as `gotc check` finds them.
  local buffers = {}
  for _, path in ipairs(vim.fn.readfile(vim.env.GOT_FILES)) do
    buffers[path] = open(path)
  end
  for path, buffer in pairs(buffers) do
    wait("diagnostics of " .. path, function()
      return published[vim.uri_from_bufnr(buffer)] ~= nil
    end)
    out.diagnostics[path] = diagnostics(buffer)
  end
  -- One program, as a user edits it.
  local main = open(vim.env.GOT_MAIN)
  vim.api.nvim_buf_set_text(main, 4, 18, 4, 24, { "anser" })
  wait("a mistake while typing", function()
    return #vim.diagnostic.get(main) > 0
  end)
  out.answers.mistake = diagnostics(main)
  vim.api.nvim_buf_set_text(main, 4, 18, 4, 23, { "answer" })
  wait("the mistake's end", function()
    return #vim.diagnostic.get(main) == 0
  end)
  out.answers.definition = ask(main, "textDocument/definition", 4, 20)
  out.answers.hover = ask(main, "textDocument/hover", 4, 20)
  out.answers.completion = ask(main, "textDocument/completion", 4, 20)
  local edit = ask(main, "textDocument/rename", 4, 20, { newName = "reply" })
  vim.lsp.util.apply_workspace_edit(edit, started.offset_encoding)
  out.answers.renamed = vim.api.nvim_buf_get_lines(main, 0, -1, false)
  out.answers.renamed_in_other = vim.api.nvim_buf_get_lines(vim.fn.bufnr(vim.env.GOT_LIB), 0, -1, false)
  vim.api.nvim_buf_set_lines(main, 2, 3, false, { "param  a=3", "" })
  vim.lsp.buf.formatting_sync({}, 20000)
  out.answers.formatted = vim.api.nvim_buf_get_lines(main, 0, -1, false)
  vim.lsp.stop_client(client)
  finish()
end

vim.o.swapfile = false
vim.o.hidden = true
local good, why = xpcall(run, debug.traceback)
if not good then
  out.failed = why
  finish()
end

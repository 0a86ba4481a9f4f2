-- Indentation and comments, and the tree-sitter highlighting where parser/got.so is in the runtime path.
vim.bo.commentstring = "# %s"
vim.bo.expandtab = true
vim.bo.shiftwidth = 4
vim.bo.softtabstop = 4

if #vim.api.nvim_get_runtime_file("parser/got.so", false) > 0 then
  if vim.treesitter.start then
    vim.treesitter.start(0, "got")
  else -- before Neovim 0.8
    vim.treesitter.highlighter.new(vim.treesitter.get_parser(0, "got"))
  end
end

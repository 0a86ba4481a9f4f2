vim.api.nvim_create_autocmd({ "BufNewFile", "BufRead" }, {
  pattern = "*.got",
  callback = function()
    vim.bo.filetype = "got"
  end,
})

use zed_extension_api::{self as zed, LanguageServerId, Result};

struct Got;

impl zed::Extension for Got {
    fn new() -> Self {
        Got
    }

    fn language_server_command(
        &mut self,
        _: &LanguageServerId,
        worktree: &zed::Worktree,
    ) -> Result<zed::Command> {
        let command = worktree
            .which("gotc")
            .ok_or("`gotc` is not on the path: pip install 'gotlang[lsp]'")?;
        Ok(zed::Command {
            command,
            args: vec!["lsp".to_string()],
            env: worktree.shell_env(),
        })
    }
}

zed::register_extension!(Got);

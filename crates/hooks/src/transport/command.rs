//! Runs commands.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jackline_process::Group;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::{
    CommandCarrier, CommandConfig, CommandReply, CommandRequest, Environment, FaultCode, HookFault, REPLY_BYTES_MAX,
    parse_command_reply,
};

/// Runs commands as hooks.
///
/// A command gets the payload on its standard input, and of the environment the variables that it lists, as far as
/// they are set. It runs in a process group of its own, which ends with it: when it exits, when its deadline passes,
/// when it prints too much, when nobody waits for it any more, and when this process is killed. Its standard error is not
/// read.
#[derive(Clone)]
pub struct ProcessCarrier {
    environment: Arc<dyn Environment>,
    directory: Option<PathBuf>,
}

impl ProcessCarrier {
    /// A carrier that takes variables from here. Commands run in the directory of this process.
    pub fn new(environment: Arc<dyn Environment>) -> Self {
        Self { environment, directory: None }
    }

    /// The same, with another directory for commands.
    pub fn in_directory(self, directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()), ..self }
    }

    async fn run(
        self,
        config: Arc<CommandConfig>,
        payload: Map<String, Value>,
        kept: bool,
    ) -> Result<Vec<u8>, HookFault> {
        let input = serde_json::to_vec(&payload).map_err(|_| configuration("the payload is no JSON"))?;
        let (mut child, mut group) = self.start(&config, kept)?;
        let running = exchange(&mut child, &mut group, &input);
        let ended = timeout(config.deadline(), running).await;
        let (output, status) = ended.unwrap_or(Err(FaultCode::Timeout.into()))?;
        if status.success() {
            return Ok(output);
        }
        let fault = HookFault::new(FaultCode::CommandFailed);
        let code = status.code().and_then(|code| u16::try_from(code).ok());
        Err(code.map_or_else(|| fault.clone(), |code| fault.clone().with_status(code)))
    }

    fn start(&self, config: &CommandConfig, kept: bool) -> Result<(Child, Group), HookFault> {
        let (program, arguments) = config.command.split_first().ok_or_else(|| configuration("there is no program"))?;
        let directory = config.directory.as_ref().or(self.directory.as_ref());
        let mut command = Command::new(self.locate(program, directory));
        command.args(arguments).env_clear();
        command.envs(config.env.iter().filter_map(|name| Some((name, self.environment.get(name)?))));
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        command.stdout(if kept { Stdio::piped() } else { Stdio::null() });
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        jackline_process::spawn(&mut command).map_err(|error| configuration(why_not_started(&error)))
    }

    /// Where the program lies. The search path is that of the carrier: what the command itself sees of the
    /// environment is another matter.
    fn locate(&self, program: &str, directory: Option<&PathBuf>) -> PathBuf {
        let path = Path::new(program);
        if program.contains('/') {
            return directory.map_or_else(|| path.to_owned(), |directory| directory.join(path));
        }
        let search = self.environment.get("PATH").unwrap_or_default();
        let candidates = std::env::split_paths(&search).map(|folder| folder.join(path));
        candidates.into_iter().find(|candidate| candidate.is_file()).unwrap_or_else(|| path.to_owned())
    }
}

impl CommandCarrier for ProcessCarrier {
    fn notify(&self, request: CommandRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        let running = self.clone().run(request.config, request.payload, false);
        running.map(|output| output.map(drop)).boxed()
    }

    fn ask(&self, request: CommandRequest) -> BoxFuture<'static, Result<CommandReply, HookFault>> {
        let kind = request.kind;
        let running = self.clone().run(request.config, request.payload, true);
        running.map(move |output| parse_command_reply(kind, &output?).map_err(HookFault::new)).boxed()
    }
}

impl fmt::Debug for ProcessCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessCarrier").finish_non_exhaustive()
    }
}

/// Writes the input, reads the output and waits for the end, all at once: a command may read, print or end in any order.
async fn exchange(child: &mut Child, group: &mut Group, input: &[u8]) -> Result<(Vec<u8>, ExitStatus), HookFault> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let waiting = async {
        let status = child.wait().await.map_err(|_| HookFault::new(FaultCode::CommandFailed))?;
        // What it left running could hold its output open for ever.
        group.kill();
        Ok(status)
    };
    let ((), output, status) = tokio::try_join!(write(stdin, input), read(stdout), waiting)?;
    Ok((output, status))
}

/// A command that does not read its input has not failed.
async fn write(stdin: Option<impl AsyncWrite + Unpin>, input: &[u8]) -> Result<(), HookFault> {
    if let Some(mut stdin) = stdin {
        let _unread = stdin.write_all(input).await;
    }
    Ok(())
}

async fn read(stdout: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, HookFault> {
    let mut output = Vec::new();
    if let Some(stdout) = stdout {
        let mut bounded = stdout.take(REPLY_BYTES_MAX as u64 + 1);
        bounded.read_to_end(&mut output).await.map_err(|_| HookFault::new(FaultCode::CommandFailed))?;
    }
    if output.len() > REPLY_BYTES_MAX { Err(FaultCode::ResponseTooLarge.into()) } else { Ok(output) }
}

fn why_not_started(error: &std::io::Error) -> &'static str {
    if error.kind() == ErrorKind::NotFound {
        "the program was not found"
    } else if error.kind() == ErrorKind::PermissionDenied {
        "the program may not be executed"
    } else {
        "the program could not be started"
    }
}

fn configuration(diagnostic: &str) -> HookFault {
    HookFault::new(FaultCode::Configuration).with_diagnostic(diagnostic)
}

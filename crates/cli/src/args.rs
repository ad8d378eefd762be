//! What can be typed.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::render::ColorChoice;

/// Runs agents, keeps what they did, and lets you decide what they may do.
///
/// Exit codes: 0 done, 1 failed, 2 usage or configuration (nothing was started), 3 waiting for a
/// decision or a result, 4 interrupted (can be resumed), 5 a limit ended the run.
#[derive(Debug, Parser)]
#[command(name = "jackline", version, propagate_version = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Common {
    /// The file that keeps all runs.
    #[arg(long, global = true, value_name = "PATH", env = "JACKLINE_STORE", default_value = DEFAULT_STORE)]
    pub(crate) store: PathBuf,
    /// When to use colour.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    /// Log to standard error; JACKLINE_LOG chooses what, such as JACKLINE_LOG=debug.
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an agent, or a directory with a tour.
    Run(RunArgs),
    /// Go on with an operation: parked, interrupted, or left by a process that died.
    Resume(ResumeArgs),
    /// Look at operations.
    #[command(subcommand)]
    Ops(OpsCommand),
    /// Let calls run that wait for a decision.
    Approve(ApproveArgs),
    /// Refuse calls that wait for a decision; the run ends, unless it is told to continue.
    Reject(RejectArgs),
    /// Stop an operation and all agents below it, or tell a hook again that has not heard of it.
    Stop(StopArgs),
    /// Give the result of a call that answers later.
    Complete(CompleteArgs),
    /// Run scenarios.
    Test(TestArgs),
    /// Look at tools, or call one.
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Look at hooks.
    #[command(subcommand)]
    Hooks(HooksCommand),
    /// Print the state machine of an operation.
    Machine(MachineArgs),
    /// Print a JSON Schema.
    Schema(SchemaArgs),
    /// Print completions for a shell.
    Completions(CompletionsArgs),
    /// Read what was too long to be shown whole.
    #[command(subcommand)]
    Archive(ArchiveCommand),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RunArgs {
    /// An agent file or a directory with a tour, then the prompt. Without a prompt it is read from
    /// standard input; `-` reads it from there besides.
    #[arg(value_name = "AGENT|DIR|PROMPT")]
    pub(crate) words: Vec<String>,
    /// Read the prompt from a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The agent file.
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
    /// The model of the built-in agent.
    #[arg(long, value_name = "NAME", env = "JACKLINE_MODEL")]
    pub(crate) model: Option<String>,
    /// Where the run comes from, for hooks: agent, topic, session, thread, group, task, workspace,
    /// document, source-message or user.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) origin: Vec<String>,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

/// How a run is shown.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ViewArgs {
    /// Print events as JSON Lines, and the report as the last line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the answer only.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The operation: its id, the beginning of it, or `last`.
    #[arg(value_name = "OP", required_unless_present = "all")]
    pub(crate) operation: Option<String>,
    /// Every operation that can go on.
    #[arg(long, conflicts_with = "operation")]
    pub(crate) all: bool,
    /// Go on without a hook that guarded the operation.
    #[arg(long, value_name = "ID")]
    pub(crate) without_hook: Vec<String>,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OpsCommand {
    /// The operations, newest first.
    List {
        /// Print JSON Lines.
        #[arg(long)]
        json: bool,
        /// How many at most.
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// What an operation did, or one of its calls.
    Show {
        /// The operation.
        #[arg(value_name = "OP")]
        operation: String,
        /// The call.
        #[arg(value_name = "CALL")]
        call: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The operation.
    #[arg(value_name = "OP")]
    pub(crate) operation: String,
    /// The calls; one can be left out if it is the only one that waits.
    #[arg(value_name = "CALL")]
    pub(crate) calls: Vec<String>,
    /// All calls that wait.
    #[arg(long, conflicts_with = "calls")]
    pub(crate) all: bool,
    /// Go on with the operation here.
    #[arg(long)]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    pub(crate) decide: ApproveArgs,
    /// Why; the model reads it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// The run goes on, and the model reads that the call was rejected.
    #[arg(long = "continue")]
    pub(crate) go_on: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct StopArgs {
    /// The operation.
    #[arg(value_name = "OP")]
    pub(crate) operation: String,
    /// Stop only if exactly these calls wait for a decision.
    #[arg(value_name = "CALL")]
    pub(crate) calls: Vec<String>,
    /// A name for this request: what a hook has not heard of the stop, only a request of this name tells it again.
    #[arg(long, value_name = "NAME")]
    pub(crate) request: Option<String>,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The operation.
    #[arg(value_name = "OP")]
    pub(crate) operation: String,
    /// The call.
    #[arg(value_name = "CALL")]
    pub(crate) call: String,
    /// The result; otherwise it is read from standard input.
    #[arg(long, value_name = "TEXT")]
    pub(crate) result: Option<String>,
    /// The call did not succeed.
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) failed: bool,
    /// Go on with the operation here.
    #[arg(long)]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct TestArgs {
    /// Scenario files, or directories with some.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Print what was covered; anything less than all of it fails.
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// The tools of an agent; of the built-in one, if none is named.
    List {
        /// The agent file.
        #[arg(value_name = "AGENT")]
        agent: Option<PathBuf>,
        /// Print JSON Lines.
        #[arg(long)]
        json: bool,
    },
    /// Call one tool, as a model would: it is checked, asked about, and written down.
    Call {
        /// The agent file.
        #[arg(value_name = "AGENT")]
        agent: PathBuf,
        /// The tool, as `identifier/apiName`.
        #[arg(value_name = "TOOL")]
        tool: String,
        /// The arguments.
        #[arg(value_name = "JSON", default_value = "{}")]
        arguments: String,
        #[command(flatten)]
        view: ViewArgs,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// The hooks that a run of an agent has, in the order in which they are asked.
    List(HooksOfArgs),
    /// Send each hook a made-up event and print what its answer means. Exits with 1 if one fails.
    Check(HooksOfArgs),
    /// Fire one event at the hooks of an agent, as a run would, and print what came of it.
    Fire(FireArgs),
    /// Receive webhooks on this machine, print them, and answer by rule.
    Listen(ListenArgs),
    /// Look after the deliveries that wait in the store.
    #[command(subcommand)]
    Outbox(OutboxCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum OutboxCommand {
    /// What waits, oldest first.
    List {
        /// Print JSON Lines.
        #[arg(long)]
        json: bool,
        /// How many at most.
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Make the deliveries that are due, without running anything. Exits with 1 if a try fails.
    Deliver {
        /// Go on until nothing waits any more: each delivery has arrived or is given up.
        #[arg(long)]
        wait: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Begin deliveries anew, now.
    Retry(DeliveriesArgs),
    /// Take deliveries out: they will not be made.
    Drop(DeliveriesArgs),
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct DeliveriesArgs {
    /// The id of one, as `list` shows it.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// All that were given up.
    #[arg(long)]
    pub(crate) dead: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HooksOfArgs {
    /// The agent file; without one, the hooks of the environment.
    #[arg(value_name = "AGENT")]
    pub(crate) agent: Option<PathBuf>,
    /// Print JSON Lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FireArgs {
    /// The event, such as beforeToolCall.
    #[arg(value_name = "TYPE")]
    pub(crate) kind: String,
    /// The agent file; without one, the hooks of the environment are asked.
    #[arg(value_name = "AGENT")]
    pub(crate) agent: Option<PathBuf>,
    /// A JSON object with fields of the event, `-` for standard input; the others are made up.
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    /// Print JSON Lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListenArgs {
    /// The port; 0 takes a free one.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// Allow everything that is asked, which is what happens without any rule.
    #[arg(long, conflicts_with_all = ["deny", "deny_matching", "status", "exec"])]
    pub(crate) allow: bool,
    /// Let a program answer, with its arguments behind it: it reads the payload and prints a decision, as a hook that
    /// is a program does. If it fails, the answer is 500.
    #[arg(long, value_name = "PROGRAM", num_args = 1.., allow_hyphen_values = true,
          conflicts_with_all = ["deny", "deny_matching", "status"])]
    pub(crate) exec: Vec<String>,
    /// Deny everything that is asked, with this reason.
    #[arg(long, value_name = "REASON")]
    pub(crate) deny: Option<String>,
    /// Deny only payloads in which this regular expression is found.
    #[arg(long, value_name = "REGEX")]
    pub(crate) deny_matching: Option<String>,
    /// Answer with this status and nothing else.
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(u16).range(200..=599))]
    pub(crate) status: Option<u16>,
    /// Wait so many milliseconds before each answer.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub(crate) delay: u64,
    /// The variable with the secret by which requests must be signed; others are answered with 401.
    #[arg(long, value_name = "NAME")]
    pub(crate) secret_env: Option<String>,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct MachineArgs {
    /// How to print it.
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: MachineFormat,
}

/// How the machine is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MachineFormat {
    /// A table in Markdown.
    Table,
    /// A drawing, for Mermaid.
    Mermaid,
    /// JSON.
    Json,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Of what.
    #[arg(value_enum)]
    pub(crate) of: SchemaOf,
}

/// What there is a schema of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// Agent files.
    Agent,
    /// Scenarios.
    Scenario,
    /// The lines of `--json`.
    Events,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArchiveCommand {
    /// Print a stored text.
    Get {
        /// Its name, as it stands where a result was cut.
        #[arg(value_name = "BLOB")]
        blob: String,
    },
}

/// Where runs are kept unless somebody says otherwise.
pub(crate) const DEFAULT_STORE: &str = ".jackline/jackline.db";

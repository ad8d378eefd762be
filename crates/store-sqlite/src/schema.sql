CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES ('syncs', 0);

-- The open stores that have worked on operations. One is alive while its lock file is locked.
CREATE TABLE owners (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  label TEXT NOT NULL
) STRICT;

CREATE TABLE configs (
  hash TEXT PRIMARY KEY,
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE operations (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL,
  config TEXT NOT NULL,
  parent TEXT,
  is_sub_agent INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  parent_call INTEGER,
  origin TEXT NOT NULL,
  user TEXT NOT NULL,
  required_hooks TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  owner INTEGER,
  fence INTEGER NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  steps INTEGER NOT NULL,
  llm_calls INTEGER NOT NULL,
  tool_calls INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  total_tokens INTEGER NOT NULL,
  cost INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX operations_by_age ON operations (created_at);
CREATE INDEX operations_by_owner ON operations (owner) WHERE owner IS NOT NULL;

-- Webhooks and commands of an operation, as they are registered again when another process goes on with it.
CREATE TABLE caller_hooks (
  op INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  hook TEXT NOT NULL,
  PRIMARY KEY (op, seq)
) STRICT, WITHOUT ROWID;

-- Webhook deliveries that have not succeeded yet, in the order in which they came. `claimed_by` is the owner that has
-- one in hand, until `due_at`. What is long comes last: whoever looks for what is due does not read it.
CREATE TABLE outbox (
  key INTEGER PRIMARY KEY,
  op INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  dead INTEGER NOT NULL DEFAULT 0,
  claimed_by TEXT,
  id TEXT NOT NULL UNIQUE,
  hook TEXT NOT NULL,
  kind TEXT NOT NULL,
  error TEXT,
  webhook TEXT NOT NULL,
  payload TEXT NOT NULL
) STRICT;

-- What hooks answered: one row per firing that asked any.
CREATE TABLE heard (
  op INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  call TEXT,
  text TEXT NOT NULL,
  PRIMARY KEY (op, seq)
) STRICT, WITHOUT ROWID;

-- One row per operation and commit, a record a line. `boundary` tells where in the text, in bytes from 1, the last
-- record begins that a resume can start at; 0 if there is none.
CREATE TABLE records (
  op INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  boundary INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (op, seq)
) STRICT;

-- Rank 0 is the message of a place; higher ranks are the summaries that were put there.
CREATE TABLE messages (
  op INTEGER NOT NULL,
  place INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  folded INTEGER NOT NULL DEFAULT 0,
  role TEXT NOT NULL,
  id TEXT NOT NULL,
  content TEXT,
  parts TEXT,
  reasoning TEXT,
  calls TEXT,
  call TEXT,
  tool TEXT,
  api TEXT,
  success INTEGER,
  error TEXT,
  state TEXT,
  denied TEXT,
  ran_ms INTEGER,
  device_ms INTEGER,
  work TEXT,
  PRIMARY KEY (op, place, rank)
) STRICT;

CREATE TABLE approvals (
  key INTEGER PRIMARY KEY,
  op INTEGER NOT NULL,
  id TEXT NOT NULL,
  question TEXT NOT NULL,
  answered INTEGER NOT NULL DEFAULT 0,
  asked_at INTEGER NOT NULL,
  expires_at INTEGER,
  is_open INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE UNIQUE INDEX approvals_open ON approvals (op) WHERE is_open = 1;

-- Numbers are never used twice: whoever consumes an item names it by its number. What waits here is soon consumed, so
-- there is no index.
CREATE TABLE inbox (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  op INTEGER NOT NULL,
  kind TEXT NOT NULL,
  call TEXT,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE blobs (
  hash TEXT PRIMARY KEY,
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Which rows need which blob.
CREATE TABLE blob_refs (
  op INTEGER NOT NULL,
  place INTEGER NOT NULL,
  blob TEXT NOT NULL,
  PRIMARY KEY (op, place)
) STRICT, WITHOUT ROWID;

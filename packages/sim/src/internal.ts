/** Entry for the packages of this repository and their tests. Not part of the API: it may change in any release. */

export type { FaultKind, FaultName, RequestMatch } from './cluster/faults.ts'
export type { AcceptedCommit } from './cluster/group-coordinator.ts'
export type { CommittedOffset, Committer } from './cluster/group-offsets.ts'
export type { GroupSnapshot, PartitionSnapshot, SimTopicOptions } from './cluster/sim-cluster.ts'
export type { ParentChannel } from './process/parent-transport.ts'
export type { ChildChannel } from './process/serve-transport.ts'
export type { SimDatabase } from './sql/sim-database.ts'
export { asSent, type RowChange, type RowWitness, type SimOutboxRow } from './sql/sim-outbox-row.ts'
export { SimOutboxTable } from './sql/sim-outbox-table.ts'
export { type SimShard, SimShardLeases } from './sql/sim-shard-leases.ts'
export {
  createSimSqlServer,
  type SimSqlClient,
  type SimSqlServer,
  type SimSqlServerOptions,
  type SqlWitness,
} from './sql/sim-sql-server.ts'
export type { SimSavepoint, SimTx } from './sql/sim-tx.ts'
export type { SimStatement, SqlFaultProfile, SqlFaultRates } from './sql/sql-faults.ts'
export type { RealTimeBan } from './time/forbid-real-time.ts'
export type { VirtualParts } from './time/virtual-runtime.ts'

export { createSimCluster } from './cluster/create-sim-cluster.ts'
export type { FaultKind, FaultName, FaultProfile, FaultRates, RequestMatch } from './cluster/faults.ts'
export type { AcceptedCommit } from './cluster/group-coordinator.ts'
export type { CommittedOffset, Committer } from './cluster/group-offsets.ts'
export type { GroupSnapshot, PartitionSnapshot, SimCluster, SimTopicOptions } from './cluster/sim-cluster.ts'
export type { SimClusterOptions } from './cluster/sim-cluster-options.ts'
export { forbidRealTime, type RealTimeBan, RealTimeError } from './forbid-real-time.ts'
export { type ParentChannel, parentTransport } from './process/parent-transport.ts'
export type { ChildChannel } from './process/serve-transport.ts'
export { SimulationError } from './simulation-error.ts'
export type { SimDatabase } from './sql/sim-database.ts'
export type { RowChange, RowWitness, SimOutboxRow } from './sql/sim-outbox-row.ts'
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
export { SimSqlError, type SimStatement, type SqlFaultProfile, type SqlFaultRates } from './sql/sql-faults.ts'
export { createVirtualRuntime, type VirtualParts, type VirtualRuntime } from './virtual-runtime.ts'

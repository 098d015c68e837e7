/** Entry for the packages of this repository and their tests. Not part of the API: it may change in any release. */

export type { AdminOperation } from './api/admin-operation.ts'
export type {
  AckMode,
  BatchFailureStrategy,
  BudgetExceededRouting,
  DeadLetterFormat,
  DeadLetterOptions,
  DeadLetterStrategy,
  DeduplicationKey,
  DeduplicationSubject,
  FailureProfile,
  KeyOrderOptions,
  ListenerType,
  OnDeadKey,
  OrderingMode,
  Parallelism,
  ReplaySettings,
  ReplayTarget,
  RetryOptions,
  RetryTopicNaming,
  StrictExhaustion,
  Tier0RetryOptions,
  TierOptions,
  TopicSelection,
  TransactionOptions,
} from './api/binding.ts'
export type { ContainerStatus, KeyState, MemberState, MemberStatus, PartitionStatus } from './api/binding-view.ts'
export type { ConfigCode } from './api/config-code.ts'
export type { DerivedTopicsMode } from './api/connector.ts'
export type { HealthFinding, HealthStatus, RecordLossKind } from './api/connector-report.ts'
export type { ContainerPlace } from './api/container-place.ts'
export type { BindingCommand } from './api/container-state.ts'
export type {
  BindingFigures,
  BindingRates,
  BindingStatus,
  CircuitFigures,
  ControlAnswer,
  ControlCommand,
  ControlledInstance,
  ControlReach,
  ControlRequest,
  ControlScope,
  ControlTarget,
  DesiredState,
  FleetInstance,
  InstanceAnswer,
  InstanceHealth,
  InstanceStatus,
  StateCommand,
  TierFigures,
} from './api/control.ts'
export type {
  DeadLetterPlace,
  DeadLettersOfGroup,
  PurgeOptions,
  PurgeReport,
  ReplaySelection,
  ScanOptions,
  ScanProgress,
} from './api/dead-letter-admin.ts'
export type {
  DeadLetterEdit,
  DeadLetterPosition,
  DeadLetterReplay,
  DeadLetterSelection,
  RefusedDeadLetter,
  ReplayBatch,
  SelectedDeadLetter,
  SelectedReplayOptions,
  SentBatch,
} from './api/dead-letter-selection.ts'
export type { DeadLetterDecision, ReplaySkip, TierFailureRecord } from './api/dead-letter-types.ts'
export type { PartitionEvent } from './api/engine-events.ts'
export type { BindingProperties, PositionAnswer } from './api/event-bus-admin.ts'
export type { EventHandler, OriginalPlace } from './api/handler-types.ts'
export type { PositionCommand, PositionTarget } from './api/position-command.ts'
export { checkCommand } from './binding/state-machine.ts'
export type { LedgerCounts } from './ledger/ledger.ts'
export type { PositionMove } from './ledger/position-move.ts'
export { createLocalControl } from './operations/local-control.ts'
export { readStoredDeadLetter } from './replay/stored-dead-letter.ts'
export { rangesOf } from './replay/unread-ranges.ts'

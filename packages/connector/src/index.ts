export type { AdministrationOptions, AdminOperation, AuditEntry, AuditLog } from './api/audit-log.ts'
export type {
  AckMode,
  BatchFailureStrategy,
  BatchHandler,
  Binding,
  BudgetExceededRouting,
  DeadLetterAlertHandler,
  DeadLetterDecision,
  DeadLetterFormat,
  DeadLetterOptions,
  DeadLetterRecord,
  DeadLetterRecordHandler,
  DeadLetterStrategy,
  DeduplicateOptions,
  DeduplicationKey,
  DeduplicationSubject,
  DeliveryContext,
  FailureProfile,
  ListenerType,
  OnDeadKey,
  OrderingMode,
  OriginalPlace,
  Parallelism,
  RecordFilter,
  RecordHandler,
  ReplaySettings,
  ReplayTarget,
  RetryOptions,
  RetryTopicNaming,
  StrictExhaustion,
  TierFailureRecord,
  TierOptions,
  TopicSelection,
  TransactionOptions,
} from './api/binding.ts'
export type { BindingView, ContainerStatus, MemberState, MemberStatus, PartitionStatus } from './api/binding-view.ts'
export type { ConfigCode } from './api/config-code.ts'
export type { Connector, ConnectorOptions, DerivedTopicsMode } from './api/connector.ts'
export {
  BindingAlreadyExistsError,
  BindingNotFoundError,
  ConnectorClosedError,
  InvalidContainerStateError,
} from './api/connector-errors.ts'
export type { AuditRow, ConnectorHealth, HealthStatus, RecordLoss, RecordLossKind } from './api/connector-report.ts'
export type { ContainerPlace } from './api/container-place.ts'
export type { BindingCommand, ContainerState } from './api/container-state.ts'
export type {
  Control,
  ControlAnswer,
  ControlCommand,
  ControlledInstance,
  ControlRequest,
  ControlScope,
  ControlTarget,
  DesiredState,
  InstanceAnswer,
  InstanceStatus,
  OperatorIdentity,
  StateCommand,
} from './api/control.ts'
export type {
  DeadLetterAdmin,
  DeadLetterPlace,
  DeadLetterStats,
  PurgeReport,
  ReplayOptions,
  ReplayReport,
  ReplaySelection,
  ReplaySkip,
  ScanOptions,
  ScanProgress,
  StoredDeadLetter,
} from './api/dead-letter-admin.ts'
export { defineBinding } from './api/define-binding.ts'
export type { PartitionEvent } from './api/engine-events.ts'
export type { BindingProperties, EventBusAdmin, PositionAnswer } from './api/event-bus-admin.ts'
export type { EventHandler } from './api/event-handler.ts'
export { HandlerRegistry } from './api/handler-registry.ts'
export type { PauseReason } from './api/pause-reason.ts'
export type {
  PositionCommand,
  PositionReport,
  PositionTarget,
  ResetPosition,
  SeekPosition,
  SkipPosition,
} from './api/position-command.ts'
export { BindingNotResumedError, PositionRefusedError, PositionUnknownError } from './api/position-errors.ts'
export { bindingFromConfig, bindingsFromConfig } from './config/bindings-from-config.ts'
export { HandlerTimeoutError } from './delivery/handler-timeout.ts'
export { createConnector } from './engine/create-connector.ts'
export { BatchProcessingError } from './handlers/batch-processing-error.ts'
export { type EventHandlers, type HandleEventsOptions, handleEvents } from './handlers/handle-events.ts'
export { NotTransactionalError, OutputRecordTooLargeError, OutputsTooLargeError } from './handlers/output-errors.ts'
export type { LedgerCounts } from './ledger/ledger.ts'
export type { PositionMove } from './ledger/position-move.ts'
export { AuditUnwritableError, OperationForbiddenError } from './operations/admin-errors.ts'
export { createLocalControl } from './operations/local-control.ts'
export { OutputRefusedError, OutputUnacceptableError } from './partition/transaction/output-refused-error.ts'
export { TransactionError } from './partition/transaction/transaction-error.ts'
export { deadLetterRecordOf } from './records/dead-letter-record.ts'
export { DerivedPublishError, DeserializationError, RetryTooLargeError } from './records/record-errors.ts'
export { ReplayInterruptedError } from './replay/replay-errors.ts'
export { DerivedTopicsError, SourceTopicMissingError } from './topics/topic-errors.ts'

export type { Binding, DeduplicateOptions, StartOffsets } from './api/binding.ts'
export type { BindingView } from './api/binding-view.ts'
export type { Connector, ConnectorOptions } from './api/connector.ts'
export {
  BindingAlreadyExistsError,
  BindingNotFoundError,
  ConnectorClosedError,
  InvalidContainerStateError,
} from './api/connector-errors.ts'
export type { AuditRow, ConnectorHealth, RecordLoss } from './api/connector-report.ts'
export type { ContainerState } from './api/container-state.ts'
export type { Control } from './api/control.ts'
export type { DeadLetterAdmin, DeadLetterStats, ReplayOptions, ReplayReport } from './api/dead-letter-admin.ts'
export type {
  DeadLetterAlertHandler,
  DeadLetterRecord,
  DeadLetterRecordHandler,
  StoredDeadLetter,
} from './api/dead-letter-types.ts'
export { defineBinding } from './api/define-binding.ts'
export type { EventBusAdmin } from './api/event-bus-admin.ts'
export { HandlerRegistry } from './api/handler-registry.ts'
export type { BatchHandler, DecodedRecord, DeliveryContext, RecordFilter, RecordHandler } from './api/handler-types.ts'
export type { PauseReason } from './api/pause-reason.ts'
export type { PositionReport, ResetPosition, SeekPosition, SkipPosition } from './api/position-command.ts'
export { BindingNotResumedError, PositionRefusedError, PositionUnknownError } from './api/position-errors.ts'
export { bindingFromConfig, bindingsFromConfig } from './config/bindings-from-config.ts'
export { HandlerTimeoutError } from './delivery/handler-timeout.ts'
export { createConnector } from './engine/create-connector.ts'
export { createFleetControl, type FleetControl } from './fleet/create-fleet-control.ts'
export { CommandUnknownError, ControlUnreachableError, InstanceNotAwayError } from './fleet/fleet-errors.ts'
export type { FleetControlOptions } from './fleet/fleet-options.ts'
export { InstanceFailedError } from './fleet/instance-failed-error.ts'
export { BatchProcessingError } from './handlers/batch-processing-error.ts'
export { type EventHandlers, type HandleEventsOptions, handleEvents } from './handlers/handle-events.ts'
export { NotTransactionalError, OutputRecordTooLargeError, OutputsTooLargeError } from './handlers/output-errors.ts'
export { OutputRefusedError, OutputUnacceptableError } from './partition/transaction/output-refused-error.ts'
export { TransactionError } from './partition/transaction/transaction-error.ts'
export { deadLetterRecordOf } from './records/dead-letter-record.ts'
export { DerivedPublishError, DeserializationError, RetryTooLargeError } from './records/record-errors.ts'
export { OtherGroupsDeadLettersError } from './replay/purge-errors.ts'
export { ReplayInterruptedError } from './replay/replay-errors.ts'
export { assessThreshold, type Threshold, type ThresholdStatus } from './thresholds/threshold.ts'
export {
  createThresholdMonitor,
  type ThresholdMonitor,
  type ThresholdReading,
  type ThresholdReport,
} from './thresholds/threshold-monitor.ts'
export {
  defaultThresholds,
  projectionThresholds,
  type ThresholdMonitorOptions,
  type ThresholdOptions,
} from './thresholds/threshold-options.ts'
export { DerivedTopicsError, SourceTopicMissingError } from './topics/topic-errors.ts'

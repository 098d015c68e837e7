export type {
  ControlCapabilities,
  ControlCapability,
  ControlHarness,
  ControlUnderTest,
} from './control/control-harness.ts'
export { controlSuite } from './control/control-suite.ts'
export type { DeadLetterIndexHarness, DeadLetterIndexUnderTest } from './dead-letter/dead-letter-index-harness.ts'
export { deadLetterIndexSuite } from './dead-letter/dead-letter-index-suite.ts'
export type {
  IdempotencyStoreCapabilities,
  IdempotencyStoreCapability,
  IdempotencyStoreHarness,
  InboxUnderTest,
  MarksUnderTest,
} from './idempotency/idempotency-store-harness.ts'
export { idempotencyStoreSuite } from './idempotency/idempotency-store-suite.ts'
export type { AuditLogHarness, AuditUnderTest } from './operation/audit-log-harness.ts'
export { auditLogSuite } from './operation/audit-log-suite.ts'
export type {
  OperationStoreCapabilities,
  OperationStoreCapability,
  OperationStoreHarness,
  OperationsUnderTest,
} from './operation/operation-store-harness.ts'
export { operationStoreSuite } from './operation/operation-store-suite.ts'
export type {
  NodeUnderTest,
  OutboxStoreCapabilities,
  OutboxStoreCapability,
  OutboxStoreHarness,
  OutboxUnderTest,
} from './outbox/outbox-store-harness.ts'
export { outboxStoreSuite } from './outbox/outbox-store-suite.ts'
export type { ProjectionStoreHarness, ProjectionUnderTest } from './projection/projection-store-harness.ts'
export { projectionStoreSuite } from './projection/projection-store-suite.ts'
export type { RequestStoreHarness, RequestsUnderTest } from './request/request-store-harness.ts'
export { requestStoreSuite } from './request/request-store-suite.ts'
export type { SharedLogHarness, SharedLogUnderTest } from './shared-log/shared-log-harness.ts'
export { sharedLogSuite } from './shared-log/shared-log-suite.ts'
export type { SuiteRunner } from './suite/suite-runner.ts'

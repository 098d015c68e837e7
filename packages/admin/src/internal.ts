/** Entry for the packages of this repository and their tests. Not part of the API: it may change in any release. */

export { type AdminGrant, Grants } from './access/access.ts'
export { allPermissions } from './access/permission.ts'
export {
  causeOf,
  type FailureCause,
  type Fingerprint,
  fingerprintOf,
  fingerprintRule,
  standardFingerprint,
} from './dead-letters/fingerprint.ts'
export { type IndexingRule, indexedLetter } from './dead-letters/indexed-letter.ts'
export type { RequestBody } from './http/admin-request.ts'
export type { FastifyAdminPlugin, FastifyAnswer, FastifyCall, FastifyHost } from './mount/fastify-plugin.ts'
export type { FetchOptions, HonoContext } from './mount/fetch-handler.ts'
export type { CreateOptions, OperationAction } from './operations/create-operations.ts'
export type { LetterFilter } from './operations/dead-letter-predicate.ts'
export { predicateOf } from './operations/dead-letter-predicate.ts'
export { OperationStalledError, UnknownOperationTypeError } from './operations/operation-errors.ts'
export type {
  AppliedBatch,
  OperationKind,
  OperationSession,
  PlannedOperation,
  RefusedRecord,
  RunBatch,
} from './operations/operation-kind.ts'
export type { AbortRule, OperationCanary, OperationLimits } from './operations/operation-limits.ts'
export type {
  EditReplayRequest,
  LetterPosition,
  OutboxRequest,
  PurgeRequest,
  ReplayRequest,
} from './operations/operation-request.ts'
export type { OperatedDeadEvents, OperatedOutbox } from './operations/outbox-kinds.ts'
export type { Problem } from './problem/problem.ts'
export type { JsonSchema } from './schema/schema.ts'
export type { OpenApiDocument } from './server/openapi-document.ts'
export type { DeadEventRow, DeadEventSelection, OutboxRows } from './service/admin-outbox.ts'

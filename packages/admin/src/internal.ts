/** Entry for the packages of this repository and their tests. Not part of the API: it may change in any release. */

export { Grants } from './access/access.ts'
export { isLocalRequest } from './access/loopback.ts'
export { allPermissions } from './access/permission.ts'
export { accepts, mediaTypeOf } from './http/media-type.ts'
export type { CreateOptions, OperationAction } from './operations/create-operations.ts'
export type { Fingerprint, LetterFilter } from './operations/dead-letter-predicate.ts'
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
export { type Problem, problemOf, problemResponse } from './problem/problem.ts'

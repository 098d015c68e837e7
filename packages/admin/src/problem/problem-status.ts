import type { WaybillError } from '@waybill/core'

/** Status codes by error code. A code that is not here is an internal error: its text may not be meant for clients. */
const statusByCode: Readonly<Record<string, number>> = {
  WAYBILL_OPTIONS_INVALID: 400,
  WAYBILL_ARGUMENT_INVALID: 400,
  WAYBILL_ADMIN_UNIDENTIFIED: 401,
  WAYBILL_OPERATION_FORBIDDEN: 403,
  WAYBILL_BINDING_NOT_FOUND: 404,
  WAYBILL_ADMIN_NOT_FOUND: 404,
  WAYBILL_INSTANCE_NOT_AWAY: 409,
  WAYBILL_BINDING_EXISTS: 409,
  WAYBILL_CONTAINER_STATE_INVALID: 409,
  WAYBILL_STATE_INVALID: 409,
  WAYBILL_POSITION_REFUSED: 409,
  WAYBILL_OPERATION_STATE_INVALID: 409,
  WAYBILL_DEAD_LETTER_CHANGED: 409,
  WAYBILL_DLT_OF_OTHER_GROUPS: 409,
  WAYBILL_PROJECTION_REBUILD_REFUSED: 409,
  WAYBILL_DEAD_LETTER_GONE: 410,
  WAYBILL_SCHEMA_VIOLATION: 422,
  WAYBILL_PARSE_FAILED: 422,
  WAYBILL_IDEMPOTENCY_KEY_REUSED: 422,
  WAYBILL_TOPOLOGY_REFUSED: 422,
  WAYBILL_DERIVED_TOPICS_INVALID: 422,
  WAYBILL_SOURCE_TOPIC_MISSING: 422,
  WAYBILL_REASON_REQUIRED: 428,
  WAYBILL_OPERATION_TYPE_UNKNOWN: 422,
  WAYBILL_KAFKA_PARTIAL_FAILURE: 502,
  WAYBILL_ADMIN_OPERATION_FAILED: 502,
  WAYBILL_REPLAY_INTERRUPTED: 502,
  WAYBILL_BINDING_NOT_RESUMED: 502,
  WAYBILL_CONNECTOR_CLOSED: 503,
  WAYBILL_AUDIT_UNWRITABLE: 503,
  WAYBILL_DATABASE_UNREACHABLE: 503,
  WAYBILL_CONTROL_UNREACHABLE: 503,
  WAYBILL_STOP_DEADLINE_EXCEEDED: 504,
  WAYBILL_POSITION_UNKNOWN: 504,
  WAYBILL_COMMAND_UNKNOWN: 504,
}

const statusByKafkaKind: Readonly<Record<string, number>> = {
  FATAL: 502,
  FENCED: 502,
  ABORTABLE: 502,
  RETRIABLE: 503,
  REBALANCING: 503,
  UNKNOWN: 504,
}

/** Returns the status of an error; undefined if it is not one that clients are told about. */
export function statusOf(error: WaybillError): number | undefined {
  const own: unknown = 'status' in error ? error.status : undefined
  if (typeof own === 'number' && error.code.startsWith('WAYBILL_ADMIN_')) return own
  if (error.code === 'WAYBILL_OPTIONS_INVALID' && 'isContent' in error) return 422
  if (error.code === 'WAYBILL_KAFKA_PARTIAL_FAILURE' && isOnlyMembers(error)) return 409
  if (error.code === 'WAYBILL_KAFKA') return statusByKafkaKind['kind' in error ? String(error.kind) : ''] ?? 502
  return Object.hasOwn(statusByCode, error.code) ? statusByCode[error.code] : undefined
}

/** Returns whether a failed change of positions was refused everywhere because the group has members. */
function isOnlyMembers(error: WaybillError): boolean {
  const failures: unknown = 'failures' in error ? error.failures : undefined
  if (!Array.isArray(failures) || failures.length === 0) return false
  return failures.every(({ error: one }: { readonly error?: { readonly reason?: string } }) =>
    ['UNKNOWN_MEMBER_ID', 'NON_EMPTY_GROUP', 'GROUP_SUBSCRIBED_TO_TOPIC'].includes(one?.reason ?? ''),
  )
}

/** Short titles, which are the same for every occurrence. */
export const titles: Readonly<Record<number, string>> = {
  400: 'The request is invalid',
  401: 'The operator is unknown',
  403: 'The operator lacks a permission',
  404: 'Not found',
  405: 'The method is not allowed here',
  406: 'The answer is not available in this form',
  409: 'The current state does not allow this',
  410: 'Deleted',
  413: 'The request is too large',
  414: 'The URL is too long',
  415: 'The media type is not supported',
  422: 'The content is invalid',
  428: 'A reason is required',
  429: 'Too many requests',
  431: 'The request headers are too large',
  500: 'Internal error',
  502: 'The cluster refused',
  503: 'Unavailable at present',
  504: 'The outcome is unknown',
}

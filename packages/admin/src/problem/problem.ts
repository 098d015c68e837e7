import { isWaybillError, type WaybillError } from '@waybill/core'
import type { AdminResponse } from '../http/admin-response.ts'
import { AdminInternalError } from './admin-errors.ts'
import { statusOf, titles } from './problem-status.ts'

/** Where the codes are explained. */
const errorsPage = 'https://waybill.dev/errors'

/** An error as RFC 9457 has it. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly impact?: string
  readonly hint?: string
  /** The path of the request. */
  readonly instance: string
  readonly requestId: string
  readonly [member: string]: unknown
}

/** The parts of a request that its problem names. */
export interface ProblemPlace {
  readonly instance: string
  readonly requestId: string
}

/**
 * Converts anything that was thrown to a problem. Errors of drivers and of the user's code become an internal error without
 * their text, which may hold addresses and statements.
 */
export function problemOf(thrown: unknown, place: ProblemPlace): Problem {
  const status = isWaybillError(thrown) ? statusOf(thrown) : undefined
  const known = status === undefined ? undefined : (thrown as WaybillError)
  const error = known ?? new AdminInternalError(place.requestId)
  return {
    type: `${errorsPage}#${error.code}`,
    title: titles[status ?? 500] ?? 'Error',
    status: status ?? 500,
    code: error.code,
    detail: error.happened.trim(),
    ...(error.impact === undefined ? {} : { impact: error.impact }),
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...place,
    ...(known === undefined ? {} : membersOf(known)),
  }
}

/** Returns the response of a problem. */
export function problemResponse(problem: Problem, write: (value: unknown) => string): AdminResponse {
  const { retryAfterSeconds, allow, ...body } = problem
  return {
    status: problem.status,
    headers: {
      'content-type': 'application/problem+json',
      ...(typeof retryAfterSeconds === 'number' ? { 'retry-after': String(retryAfterSeconds) } : {}),
      ...(Array.isArray(allow) ? { allow: allow.join(', ') } : {}),
    },
    body: write(body),
  }
}

/** Members that clients may decide on, by the error that has them. */
const shownMembers: Readonly<Record<string, readonly string[]>> = {
  WAYBILL_OPERATION_FORBIDDEN: ['permission'],
  WAYBILL_CONTAINER_STATE_INVALID: ['binding', 'state'],
  WAYBILL_POSITION_REFUSED: ['refusals'],
  WAYBILL_OPERATION_STATE_INVALID: ['state'],
  WAYBILL_DEAD_LETTER_CHANGED: ['version'],
  WAYBILL_DLT_OF_OTHER_GROUPS: ['byGroup'],
  WAYBILL_REPLAY_INTERRUPTED: ['report'],
  WAYBILL_INSTANCE_NOT_AWAY: ['instances'],
  WAYBILL_STOP_DEADLINE_EXCEEDED: ['stillRunning'],
  WAYBILL_ADMIN_RATE_LIMITED: ['retryAfterSeconds'],
}

/** Codes that pass by themselves. */
const passing: readonly string[] = [
  'WAYBILL_AUDIT_UNWRITABLE',
  'WAYBILL_CONTROL_UNREACHABLE',
  'WAYBILL_DATABASE_UNREACHABLE',
  'WAYBILL_CONNECTOR_CLOSED',
]

function membersOf(error: WaybillError): Record<string, unknown> {
  const given = error as WaybillError & Record<string, unknown>
  const shown = (shownMembers[error.code] ?? []).map((name) => [name, given[name]] as const)
  return {
    ...Object.fromEntries(shown.filter(([, value]) => value !== undefined)),
    ...(typeof given['details'] === 'object' ? (given['details'] as object) : {}),
    ...violationsOf(given['violations']),
    ...outcomesOf(given['outcomes']),
    ...(passing.includes(error.code) || given['kind'] === 'RETRIABLE' ? { retryAfterSeconds: 5 } : {}),
  }
}

function violationsOf(violations: unknown): object {
  if (!Array.isArray(violations)) return {}
  return {
    violations: violations.map(({ path, problem }: { path: string; problem: string }) => ({ path, message: problem })),
  }
}

/** The results of a partial failure. An error is shown by its code: each is a WaybillError of the client. */
function outcomesOf(outcomes: unknown): object {
  if (!Array.isArray(outcomes)) return {}
  return {
    outcomes: outcomes.map(({ error, ...one }: { readonly error?: WaybillError }) => ({
      ...one,
      ...(error === undefined ? {} : { error: { code: error.code, message: error.happened } }),
    })),
  }
}

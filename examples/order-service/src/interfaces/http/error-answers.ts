import { UnknownCommitError } from '@waybill/core'
import type { FastifyError } from 'fastify'
import {
  KeyReusedError,
  NotAllowedError,
  OrderNotFoundError,
  StaleVersionError,
  StoreUnavailableError,
  WritesRejectedError,
} from '../../application/application-errors.ts'
import { IllegalTransitionError, InvalidOrderError } from '../../domain/order/order-errors.ts'
import { RateLimitedError } from './rate-limit.ts'
import { MissingRoleError } from './role-access.ts'
import { IssuerUnavailableError, UnauthenticatedError } from './token-authenticator.ts'

/** What a client is told of an error. */
export interface ErrorAnswer {
  readonly status: number
  readonly code: string
  readonly message: string
  /** Seconds after which a repeat makes sense. */
  readonly retryAfter?: number
}

/** The body of every error. */
export interface ErrorBody {
  readonly code: string
  readonly message: string
  readonly requestId: string
  readonly timestamp: string
}

/** Returns the body of an error. */
export function errorBodyOf(code: string, message: string, requestId: string, now: number): ErrorBody {
  return { code, message, requestId, timestamp: new Date(now).toISOString() }
}

type ErrorClass = abstract new (...given: never[]) => Error

const known: readonly (readonly [ErrorClass, status: number, code: string])[] = [
  [InvalidOrderError, 400, 'VALIDATION_ERROR'],
  [UnauthenticatedError, 401, 'UNAUTHENTICATED'],
  [MissingRoleError, 403, 'FORBIDDEN'],
  [NotAllowedError, 403, 'FORBIDDEN'],
  [OrderNotFoundError, 404, 'ORDER_NOT_FOUND'],
  [IllegalTransitionError, 409, 'CONFLICT'],
  [StaleVersionError, 409, 'CONFLICT'],
  [KeyReusedError, 422, 'IDEMPOTENCY_KEY_REUSED'],
]

/** The toolkit's errors of requests with a key. */
const byToolkitCode: Readonly<Record<string, string>> = {
  WAYBILL_REQUEST_KEY_INVALID: 'VALIDATION_ERROR',
  WAYBILL_REQUEST_IN_PROGRESS: 'CONFLICT',
  WAYBILL_REQUEST_KEY_REUSED: 'IDEMPOTENCY_KEY_REUSED',
  WAYBILL_REQUEST_RESULT_MISSING: 'INFRASTRUCTURE_ERROR',
  WAYBILL_REQUEST_STORE_UNAVAILABLE: 'INFRASTRUCTURE_ERROR',
}

/** Returns what the client may know. Texts of drivers and of bugs stay in the log. */
export function answerOf(error: unknown): ErrorAnswer {
  for (const [type, status, code] of known) if (error instanceof type) return { status, code, message: error.message }
  if (error instanceof RateLimitedError)
    return { status: 429, code: 'RATE_LIMITED', message: error.message, retryAfter: secondsOf(error.retryAfterMs) }
  if (error instanceof StoreUnavailableError || error instanceof IssuerUnavailableError)
    return infrastructure(error.message, 1)
  if (error instanceof WritesRejectedError) return infrastructure(error.message, secondsOf(error.retryAfterMs))
  if (error instanceof UnknownCommitError)
    return infrastructure(
      'It is not known whether the change was stored. Repeat it with the same X-Idempotency-Key.',
      1,
    )
  return (
    answerOfToolkit(error) ??
    answerOfFastify(error) ?? {
      status: 500,
      code: 'INTERNAL_ERROR',
      message: 'An error was logged under this requestId.',
    }
  )
}

function infrastructure(message: string, retryAfter: number): ErrorAnswer {
  return { status: 503, code: 'INFRASTRUCTURE_ERROR', message, retryAfter }
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000))
}

function answerOfToolkit(error: unknown): ErrorAnswer | undefined {
  const { code, statusCode, message } = error as { code?: unknown; statusCode?: unknown; message?: unknown }
  if (typeof code !== 'string') return undefined
  const own = byToolkitCode[code]
  if (own === undefined || typeof statusCode !== 'number') return undefined
  return {
    status: statusCode,
    code: own,
    message: String(message),
    ...(statusCode === 422 || statusCode === 400 ? {} : { retryAfter: 1 }),
  }
}

/** Fastify's own errors: a body that is no JSON, breaks its schema, or is too large. */
function answerOfFastify(error: unknown): ErrorAnswer | undefined {
  const { statusCode, validation, message } = error as Partial<FastifyError>
  if (validation !== undefined)
    return { status: 400, code: 'VALIDATION_ERROR', message: message ?? 'The request is not valid.' }
  if (statusCode === undefined || statusCode < 400 || statusCode >= 500) return undefined
  const code = statusCode === 413 ? 'PAYLOAD_TOO_LARGE' : statusCode === 415 ? 'UNSUPPORTED_MEDIA_TYPE' : 'BAD_REQUEST'
  return { status: statusCode, code, message: message ?? 'The request cannot be read.' }
}

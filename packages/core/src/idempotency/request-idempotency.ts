import { UnknownCommitError } from '../database/database-errors.ts'
import { ArgumentError, StateError } from '../errors.ts'
import { causeChain, readProperty } from '../failure/cause-chain.ts'
import { takeRejection } from '../failure/take-rejection.ts'
import { resolveOptions } from '../option/resolve-options.ts'
import { showValue } from '../option/show-value.ts'
import { RequestClaim } from './request-claim.ts'
import { RequestKeyInvalidError, RequestResultMissingError } from './request-errors.ts'
import { fingerprintOf } from './request-fingerprint.ts'
import {
  type RequestIdempotencyOptions,
  type ResolvedRequestIdempotencyOptions,
  requestIdempotencyRules,
} from './request-options.ts'

/** A request that a client may repeat. */
export interface IdempotentRequest {
  /**
   * The key that the client chose, as received: spaces around it do not count, and an empty one is none. Without a key
   * the request runs unprotected.
   */
  readonly key: string | null | undefined
  /** The authenticated caller. Keys belong to their caller alone: two callers with one key do not meet. */
  readonly caller: string
  /**
   * The content of the request: its body, and all else that tells two requests apart, such as `[method, path, body]`. A
   * key that comes with another content is refused. In objects the order of members does not count.
   */
  readonly body: unknown
}

/** A request as the steps see it: to be stored with the effect, under a unique key of caller and key. */
export interface IdentifiedRequest {
  readonly caller: string
  /** Null: the request came without one. */
  readonly key: string | null
  /** Of the body, as stored in the mark. */
  readonly fingerprint: string
}

/** The steps of one request. */
export interface RequestSteps<T> {
  /** Does the work. Resolves after its commit, and rejects after its rollback. */
  create(request: IdentifiedRequest): Promise<T>
  /** Returns the text that the mark keeps to name the result, such as its id. At most 32,000 characters. */
  referenceOf(result: T): string
  /** Loads the result that an earlier request created; null if it is not there. */
  load(reference: string): Promise<T | null>
  /**
   * Looks for the result of an earlier request with this key in the database. Called before `create`, since a mark may
   * have been lost, and after a `create` whose outcome is not known or that met the unique key.
   *
   * @defaultValue marks alone recognize a repeat
   */
  find?(request: IdentifiedRequest): Promise<T | null>
  /** Whether `create` failed because the key is in the database already. @defaultValue never */
  isDuplicate?(error: unknown): boolean
}

/** The result of a request. */
export interface RequestOutcome<T> {
  readonly result: T
  /** Whether an earlier request created it. */
  readonly isReplay: boolean
}

/** Runs requests with a key once. */
export interface RequestIdempotency {
  /**
   * Runs the request, or returns the result of an earlier one with the same caller, key and body.
   *
   * @throws what `create` and `load` throw, a RequestKeyInvalidError (400), a RequestInProgressError (409), a
   * RequestKeyReusedError (422), a RequestResultMissingError (503) or a RequestStoreUnavailableError (503)
   */
  run<T>(request: IdempotentRequest, steps: RequestSteps<T>): Promise<RequestOutcome<T>>
}

const mostKeyLength = 128
const mostCallerLength = 256
const mostReferenceLength = 32_000

/**
 * Creates the lifecycle of requests with an idempotency key, for any framework and any store of marks.
 *
 *   key ─▶ mark IN_PROGRESS by compare-and-set ─▶ find ─▶ create, which commits ─▶ mark COMPLETED
 *              │ held by another                   │              │ rolled back: delete the own mark
 *              ▼                                   ▼              ▼ unknown: keep it until it expires
 *          409, 422, or load the result        the result      the error
 *
 * A mark is a first line only: it may be lost, and may expire while its request runs. Store caller and key with the
 * effect under a unique key; `find` and `isDuplicate` then return the first result.
 *
 * @throws an OptionsError with every violation
 */
export function createRequestIdempotency(options: RequestIdempotencyOptions): RequestIdempotency {
  const resolved = resolveOptions('createRequestIdempotency', requestIdempotencyRules, options)
  return { run: (request, steps) => run(resolved, request, steps) }
}

async function run<T>(
  options: ResolvedRequestIdempotencyOptions,
  { key: given, caller, body }: IdempotentRequest,
  steps: RequestSteps<T>,
): Promise<RequestOutcome<T>> {
  if (options.database?.ambient.isTransactionActive() === true) throw insideTransaction()
  const key = readKey(given)
  const fingerprint = fingerprintOf(body)
  if (key === null) return { result: await steps.create({ caller, key, fingerprint }), isReplay: false }
  requireCaller(caller)
  const request = { caller, key, fingerprint }
  const start = await new RequestClaim(options, request).begin()
  if (start.kind === 'COMPLETED') return { result: await loadResult(start.reference, steps), isReplay: true }
  const outcome = await createOnce(start.claim, request, steps)
  await complete(options, start.claim, () => steps.referenceOf(outcome.result))
  return outcome
}

/** Creates the result unless it exists. */
async function createOnce<T>(
  claim: RequestClaim,
  request: IdentifiedRequest,
  steps: RequestSteps<T>,
): Promise<RequestOutcome<T>> {
  try {
    const found = await find(request, steps)
    return found === null ? { result: await steps.create(request), isReplay: false } : { result: found, isReplay: true }
  } catch (error) {
    const isUnknown = isOutcomeUnknown(error)
    if (isUnknown || steps.isDuplicate?.(error) === true) {
      const found = await find(request, steps).catch(() => null) // The first error says more.
      if (found !== null) return { result: found, isReplay: true }
    }
    // With an unknown outcome the effect may be there, or come: a repeat must not run beside it.
    if (!isUnknown) await claim.release()
    throw error
  }
}

async function find<T>(request: IdentifiedRequest, steps: RequestSteps<T>): Promise<T | null> {
  return (await steps.find?.(request)) ?? null
}

async function loadResult<T>(reference: string, steps: RequestSteps<T>): Promise<T> {
  const result = await steps.load(reference)
  if (result === null) throw new RequestResultMissingError(reference)
  return result
}

/** Never rejects: the effect is committed, and an error would tell the client otherwise. */
async function complete(
  { runtime }: ResolvedRequestIdempotencyOptions,
  claim: RequestClaim,
  referenceOf: () => unknown,
): Promise<void> {
  try {
    await claim.complete(requireReference(referenceOf()))
  } catch (err) {
    runtime.logger.error({ err }, 'Request mark not completed; repeats are rejected until it expires')
  }
}

function requireReference(given: unknown): string {
  if (typeof given === 'string' && given.length <= mostReferenceLength) return given
  takeRejection(given)
  throw new ArgumentError(
    `referenceOf must return a text of at most ${mostReferenceLength} characters, got ${showValue(given)}.`,
  )
}

/** COMMIT got no answer, or the work ended its transaction itself: both may have committed. */
function isOutcomeUnknown(error: unknown): boolean {
  return causeChain(error).some((one) => unknownOutcomes.has(readProperty(one, 'code')))
}

// By code: the class of the second belongs to @waybill/sql, and two copies of a package have two classes.
const unknownOutcomes: ReadonlySet<unknown> = new Set([UnknownCommitError.code, 'WAYBILL_TRANSACTION_ENDED'])

/** @throws a RequestKeyInvalidError */
function readKey(given: string | null | undefined): string | null {
  if (given === null || given === undefined) return null
  if (typeof given !== 'string') throw new RequestKeyInvalidError(`must be one text, got ${showValue(given)}`)
  const key = given.trim()
  if (key.length > mostKeyLength) throw new RequestKeyInvalidError(`must have at most ${mostKeyLength} characters`)
  if (hasControlCharacter(key)) throw new RequestKeyInvalidError('must have no control characters')
  return key === '' ? null : key
}

function requireCaller(given: unknown): void {
  const isText = typeof given === 'string' && given !== '' && given.length <= mostCallerLength
  if (isText && !hasControlCharacter(given)) return
  throw new ArgumentError(
    `The caller of an idempotent request is a text of 1 to ${mostCallerLength} characters, without control characters.`,
    { impact: 'Nothing was done.', hint: 'Pass the subject of the authenticated token.' },
  )
}

function hasControlCharacter(text: string): boolean {
  return /\p{Cc}/u.test(text) || !text.isWellFormed()
}

function insideTransaction(): StateError {
  return new StateError('An idempotent request was run inside an open transaction.', {
    impact: 'Nothing was done.',
    hint: 'Open the transaction inside create: the mark must say COMPLETED only after its commit.',
  })
}

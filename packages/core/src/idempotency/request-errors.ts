import { WaybillError } from '../errors.ts'

/** The key of a request cannot be used. */
export class RequestKeyInvalidError extends WaybillError {
  static override readonly code = 'WAYBILL_REQUEST_KEY_INVALID'
  /** The HTTP status that says the same. */
  readonly statusCode = 400

  constructor(problem: string) {
    super(`The idempotency key ${problem}.`, {
      impact: 'Nothing was done.',
      hint: 'Send a key of your own for each request that must happen once, such as a UUID.',
    })
  }
}

/** A request with the same key is running, or its process died and its mark has not expired. */
export class RequestInProgressError extends WaybillError {
  static override readonly code = 'WAYBILL_REQUEST_IN_PROGRESS'
  /** The HTTP status that says the same. */
  readonly statusCode = 409
  /** The time until the mark of the other request expires at the latest. */
  readonly retryAfterMs: number

  constructor(retryAfterMs: number) {
    super('A request with this idempotency key is in progress.', {
      impact: 'Nothing was done by this request.',
      hint: 'Repeat it with the same key after retryAfterMs at the latest: it returns the result of the first.',
    })
    this.retryAfterMs = retryAfterMs
  }
}

/** The key was used for a request with another content. */
export class RequestKeyReusedError extends WaybillError {
  static override readonly code = 'WAYBILL_REQUEST_KEY_REUSED'
  /** The HTTP status that says the same. */
  readonly statusCode = 422

  constructor() {
    super('The idempotency key was used for a request with another content.', {
      impact: 'Nothing was done by this request.',
      hint: 'Use a new key for a new request, and repeat a request unchanged.',
    })
  }
}

/** An earlier request with the key succeeded, and its result cannot be loaded now. */
export class RequestResultMissingError extends WaybillError {
  static override readonly code = 'WAYBILL_REQUEST_RESULT_MISSING'
  /** The HTTP status that says the same. */
  readonly statusCode = 503

  constructor(reference: string) {
    super(`An earlier request with this idempotency key succeeded, but its result '${reference}' was not found.`, {
      impact: 'Nothing was done again.',
      hint: 'Repeat the request: a replica may be behind. If the result was deleted, use a new key.',
    })
  }
}

/** The store of marks failed or did not answer in time, and the options say to reject then. */
export class RequestStoreUnavailableError extends WaybillError {
  static override readonly code = 'WAYBILL_REQUEST_STORE_UNAVAILABLE'
  /** The HTTP status that says the same. */
  readonly statusCode = 503

  constructor(cause: unknown) {
    super('The store of idempotency keys failed or did not answer in time.', {
      cause,
      impact: 'Nothing was done by this request.',
      hint: "Repeat it with the same key. With onStoreFailure: 'PROCEED' requests run without the store.",
    })
  }
}

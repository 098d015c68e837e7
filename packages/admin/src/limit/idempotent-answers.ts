import { createHash } from 'node:crypto'
import type { Clock } from '@waybill/core'
import type { AdminResponse } from '../http/admin-response.ts'
import { IdempotencyKeyReusedError } from '../operations/operation-errors.ts'
import { AdminBusyError, AdminRequestError } from '../problem/admin-errors.ts'

const keptMs = 24 * 3_600_000
/** Answers kept: the oldest are forgotten first. */
const maxAnswers = 10_000

/** A change with an idempotency key. */
export interface KeyedRequest {
  readonly by: string
  readonly key: string
  readonly method: string
  readonly url: string
  readonly body: Uint8Array | undefined
}

interface Kept {
  readonly hash: string
  readonly endsAt: number
  response: AdminResponse | undefined
}

/**
 * Answers a repeated change with the first answer.
 *
 *     absent ─▶ running ─▶ kept for a day
 *                 └─ failed before anything was done ─▶ absent
 *
 * The answers are in the memory of this process: after a restart, or at another instance, a repeat is a new request.
 */
export class IdempotentAnswers {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #kept = new Map<string, Kept>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Runs a change once. @throws IdempotencyKeyReusedError, AdminBusyError while the first request runs */
  async answer(request: KeyedRequest, run: () => Promise<AdminResponse>): Promise<AdminResponse> {
    const name = JSON.stringify([request.by, request.key])
    const hash = hashOf(request)
    const known = this.#find(name)
    if (known !== undefined) {
      if (known.hash !== hash) throw new IdempotencyKeyReusedError(request.key)
      if (known.response === undefined)
        throw new AdminBusyError('A request with this idempotency key still runs.', 409, 1)
      return { ...known.response, headers: { ...known.response.headers, 'idempotency-replayed': 'true' } }
    }
    const entry: Kept = { hash, endsAt: this.#clock.monotonic() + keptMs, response: undefined }
    this.#kept.set(name, entry)
    this.#makeRoom()
    try {
      const response = await run()
      // A failure that says "try again" or "unknown" is not an answer to repeat.
      if (response.status < 500 && response.status !== 429) entry.response = response
      return response
    } finally {
      if (entry.response === undefined) this.#kept.delete(name)
    }
  }

  #find(name: string): Kept | undefined {
    const kept = this.#kept.get(name)
    if (kept !== undefined && kept.endsAt > this.#clock.monotonic()) return kept
    this.#kept.delete(name)
    return undefined
  }

  #makeRoom(): void {
    for (const [name, { response }] of this.#kept) {
      if (this.#kept.size <= maxAnswers) return
      if (response !== undefined) this.#kept.delete(name)
    }
  }
}

/** Checks an idempotency key; undefined if none was sent. @throws AdminRequestError */
export function readIdempotencyKey(given: string | undefined): string | undefined {
  if (given === undefined) return undefined
  if (/^[\x21-\x7e]{1,128}$/.test(given)) return given
  throw new AdminRequestError('The Idempotency-Key must be 1 to 128 printable characters.')
}

function hashOf({ method, url, body }: KeyedRequest): string {
  return createHash('sha256')
    .update(JSON.stringify([method, url]))
    .update(body ?? '')
    .digest('base64')
}

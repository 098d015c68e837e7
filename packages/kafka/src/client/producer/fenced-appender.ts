import { KafkaError } from '../cluster/kafka-error.ts'
import type { ProducerDeps } from './coordinator-call.ts'
import type { OutRecord, SendResult } from './producer.ts'
import type { ProducerIdentity } from './producer-identity.ts'
import { type ProducerOptions, resolveProducerOptions } from './producer-options.ts'
import { closedError } from './send-error.ts'
import { SendLoop } from './send-loop.ts'
import { TransactionCoordinator } from './transaction-coordinator.ts'

/**
 * Plain idempotent appends under the producer id and epoch of a transactional id: once a newer owner has written, a late
 * append of this one is refused (D21).
 */
export interface FencedAppender extends AsyncDisposable {
  /** The epoch given to this owner. */
  readonly epoch: number
  append(record: OutRecord): Promise<SendResult>
  /** Takes the next epoch with the own id: what was sent before and is unknown cannot appear after the next append. */
  renew(): Promise<void>
  close(): Promise<void>
}

/** Required by the request; no transaction is ever opened. */
const transactionTimeoutMs = 60_000

/**
 * Makes a {@link FencedAppender}, taking the next epoch of the transactional id. Once `signal` aborts no epoch is asked for.
 *
 * Order comes before progress. When an append is refused, those behind it are given back with it, for the caller to
 * append again in its order. When the fate of one is unknown, nothing is appended before `renew`.
 */
export async function createFencedAppender(
  deps: ProducerDeps,
  transactionalId: string,
  options: ProducerOptions = {},
  signal?: AbortSignal,
): Promise<FencedAppender> {
  signal?.throwIfAborted()
  const resolved = resolveProducerOptions('DEAD_LETTER', options)
  let identity: ProducerIdentity | null = null
  let fencedBy: KafkaError | null = null
  let closing: Promise<void> | undefined
  /**
   * Calls that overlap share one: a second answer with the same epoch would start the numbers of its batches again, and
   * the broker would drop what was appended in between as repeats.
   */
  let renewing: Promise<void> | undefined

  const loop: SendLoop = new SendLoop(deps, resolved, {
    // Plain batches: they are visible at once, and readers need not know of transactions.
    transactionalId: null,
    raisesEpoch: false,
    trouble: undefined,
    identity: () => identity,
    spent: () => {},
    admits: () => true,
    failed: (error, sender) => {
      if (error.kind === 'FENCED') {
        fencedBy ??= error
        void loop.halt(fencedBy)
      } else if (error.kind === 'UNKNOWN' || sender.needsIdentity) void loop.halt(notRenewed(error))
      else loop.giveBack(notReached(error))
    },
  })
  const coordinator = new TransactionCoordinator(deps, transactionalId, transactionTimeoutMs, {
    deadlineMs: resolved.deliveryTimeoutMs,
    requestTimeoutMs: resolved.requestTimeoutMs,
    signal: loop.signal,
  })
  const giveUp = (): void => loop.stop(closedError())
  signal?.addEventListener('abort', giveUp)
  try {
    identity = await coordinator.nextIdentity(null)
  } finally {
    signal?.removeEventListener('abort', giveUp)
  }

  const renew = async (): Promise<void> => {
    if (fencedBy !== null) throw fencedBy
    if (closing !== undefined) throw closedError()
    await loop.flush()
    await loop.halt(notRenewed())
    try {
      identity = await coordinator.nextIdentity(identity)
    } catch (error) {
      if (error instanceof KafkaError && error.kind === 'FENCED') fencedBy ??= error
      throw error
    }
    loop.resume(identity)
  }
  const close = async (): Promise<void> => {
    await loop.flush()
    loop.stop(closedError())
  }

  return {
    get epoch(): number {
      return identity?.epoch ?? -1
    },
    append: (record: OutRecord): Promise<SendResult> => {
      if (closing !== undefined) return Promise.reject(closedError())
      return fencedBy === null ? loop.send(record) : Promise.reject(fencedBy)
    },
    renew: () => (renewing ??= renew().finally(() => (renewing = undefined))),
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  }
}

function notRenewed(cause?: KafkaError): KafkaError {
  return new KafkaError('Nothing is appended before the epoch is renewed.', 'RETRIABLE', {
    ...(cause === undefined ? {} : { cause }),
    impact: 'The record is not in the log.',
    hint: 'Renew, read up to a record appended after that, and append again what is not there.',
  })
}

function notReached(cause: KafkaError): KafkaError {
  return new KafkaError('An append before this one failed.', 'RETRIABLE', {
    cause,
    impact: 'The record is not in the log.',
    hint: 'Append again, in the same order.',
  })
}

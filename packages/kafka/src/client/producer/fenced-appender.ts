import { KafkaError } from '../cluster/kafka-error.ts'
import type { ProducerDeps } from './coordinator-call.ts'
import type { OutRecord, SendResult } from './producer.ts'
import type { ProducerIdentity } from './producer-identity.ts'
import { type ProducerOptions, resolveProducerOptions } from './producer-options.ts'
import { closedError } from './send-error.ts'
import { SendLoop } from './send-loop.ts'
import { TransactionCoordinator } from './transaction-coordinator.ts'

/**
 * Idempotent appends under the producer id and epoch of a transactional id. Once a newer owner has written, late
 * appends of this one are refused.
 */
export interface FencedAppender extends AsyncDisposable {
  /** The epoch of this owner. */
  readonly epoch: number
  append(record: OutRecord): Promise<SendResult>
  /**
   * Obtains the next epoch of the own id. Earlier appends with an unknown outcome cannot appear after the next append.
   */
  renew(): Promise<void>
  close(): Promise<void>
}

/** Required by the request, although no transaction is ever opened. */
const transactionTimeoutMs = 60_000

/**
 * Creates a {@link FencedAppender} and obtains the next epoch of the transactional id. No epoch is requested once
 * `signal` aborts.
 *
 * Order comes before progress. When an append is refused, the queued ones behind it fail too, for the caller to append
 * again in order. When the outcome of one is unknown, nothing is appended before `renew`.
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
   * Shared by overlapping calls: a second response with the same epoch would restart the sequence, and the broker would
   * drop the appends in between as duplicates.
   */
  let renewing: Promise<void> | undefined

  const loop: SendLoop = new SendLoop(deps, resolved, {
    // Non-transactional batches: visible at once to every reader.
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
      else loop.failQueued(notReached(error))
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
  return new KafkaError('The epoch must be renewed before the next append.', 'RETRIABLE', {
    ...(cause === undefined ? {} : { cause }),
    impact: 'The record is not in the log.',
    hint: 'Renew, append a marker, read up to it, and append the missing records again.',
  })
}

function notReached(cause: KafkaError): KafkaError {
  return new KafkaError('An append before this one failed.', 'RETRIABLE', {
    cause,
    impact: 'The record is not in the log.',
    hint: 'Append again, in the same order.',
  })
}

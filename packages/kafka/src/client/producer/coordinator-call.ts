/**
 * Sends one request to the coordinator of a transactional id or a group, and retries until it has a response. Each of
 * these requests states its whole effect under one producer epoch, so a repeat is idempotent.
 */

import type { Runtime } from '@waybill/core'
import { errorCode } from '../../wire/api/error-codes.ts'
import type { CoordinatorKind, KafkaApi, ResponseOf } from '../../wire/api/kafka-apis.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { KafkaError, kafkaError, kindOf, toKafkaError } from '../cluster/kafka-error.ts'
import type { Nodes, RequestSource } from '../cluster/nodes.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'

/** Dependencies of a producer. */
export interface ProducerDeps {
  readonly cluster: Cluster
  readonly nodes: Nodes
  readonly runtime: Runtime
  /** The name of the cluster in metrics. @defaultValue 'default' */
  readonly clusterLabel?: string
  /** Called when the producer has ended, so that its creator can drop it. */
  readonly ended?: () => void
}

/** A request to the coordinator of a key. */
export interface CoordinatorCall<A extends KafkaApi> {
  readonly kind: CoordinatorKind
  readonly key: string
  readonly api: A
  readonly request: RequestSource<A>
  /** Returns the error codes of a response: one, or one per partition. */
  readonly codes: (response: ResponseOf<A>) => readonly number[]
}

/** Time limits of a call. */
export interface CallBounds {
  /** Time limit of all attempts together. */
  readonly deadlineMs: number
  readonly requestTimeoutMs: number
  readonly signal: AbortSignal
  /** Called when the coordinator may have acted on an attempt, or may still do so, without confirming it. */
  readonly onDoubt?: () => void
}

/** Codes of a coordinator that has moved, or moved while it wrote: the write may still have been replicated. */
const movedCodes: ReadonlySet<number> = new Set([errorCode.NOT_COORDINATOR, errorCode.COORDINATOR_NOT_AVAILABLE])

/**
 * Resolves with a response without an error. Rejects with the KafkaError of a refusal. At the deadline it rejects with
 * UNKNOWN when an attempt may have taken effect, otherwise with RETRIABLE.
 */
export async function callCoordinator<A extends KafkaApi>(
  deps: ProducerDeps,
  call: CoordinatorCall<A>,
  bounds: CallBounds,
): Promise<ResponseOf<A>> {
  const { clock, timers, random } = deps.runtime
  const endAt = clock.monotonic() + bounds.deadlineMs
  let isInDoubt = false
  for (let attempt = 1; ; attempt++) {
    const timeoutMs = Math.min(bounds.requestTimeoutMs, Math.max(1, endAt - clock.monotonic()))
    const result = await attemptOnce(deps, call, timeoutMs)
    if ('response' in result) return result.response
    const { error, mayBeDone } = result
    if (mayBeDone) {
      isInDoubt = true
      bounds.onDoubt?.()
    }
    if (error.kind !== 'RETRIABLE' && error.kind !== 'UNKNOWN') throw error
    // The markers of the previous transaction are being written, which takes milliseconds.
    const isBusy = error.reason === 'CONCURRENT_TRANSACTIONS'
    const waitMs = isBusy ? 10 + 10 * random() : retryWaitMs(attempt, random)
    if (clock.monotonic() + waitMs >= endAt) {
      throw new KafkaError(
        `${call.api} for ${call.key}: not done within ${bounds.deadlineMs} ms.`,
        isInDoubt ? 'UNKNOWN' : 'RETRIABLE',
        {
          cause: error,
        },
      )
    }
    await timers.sleep(waitMs, bounds.signal)
  }
}

type CallResult<A extends KafkaApi> =
  | { readonly response: ResponseOf<A> }
  | { readonly error: KafkaError; readonly mayBeDone: boolean }

async function attemptOnce<A extends KafkaApi>(
  { cluster, nodes }: ProducerDeps,
  { kind, key, api, request, codes }: CoordinatorCall<A>,
  timeoutMs: number,
): Promise<CallResult<A>> {
  let isAsked = false
  try {
    const node = await cluster.coordinator(kind, key, timeoutMs)
    isAsked = true
    const response = await nodes.send(node, api, request, timeoutMs)
    const code = worstOf(codes(response))
    if (code === errorCode.NONE) return { response }
    const hasMoved = movedCodes.has(code)
    if (hasMoved) cluster.invalidateCoordinator(kind, key)
    return { error: kafkaError(`${api} for ${key}`, code), mayBeDone: hasMoved || kindOf(code) === 'UNKNOWN' }
  } catch (thrown) {
    const error = toKafkaError(`${api} for ${key}`, thrown)
    cluster.invalidateCoordinator(kind, key)
    return { error, mayBeDone: isAsked && error.kind !== 'RETRIABLE' }
  }
}

/** Returns the decisive code: permanent errors before retriable ones, and both before OPERATION_NOT_ATTEMPTED. */
function worstOf(codes: readonly number[]): number {
  const failed = codes.filter((code) => code !== errorCode.NONE)
  const causes = failed.filter((code) => code !== errorCode.OPERATION_NOT_ATTEMPTED)
  return causes.find((code) => kindOf(code) !== 'RETRIABLE') ?? causes[0] ?? failed[0] ?? errorCode.NONE
}

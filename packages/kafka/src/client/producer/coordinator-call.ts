/**
 * One request to the coordinator of a transactional id or a group, repeated until it is answered. Each of these requests
 * says the whole of what is wanted under one producer epoch, so doing it twice is the same as doing it once.
 */

import type { Runtime } from '@waybill/core'
import { errorCode } from '../../wire/api/error-codes.ts'
import type { CoordinatorKind, KafkaApi, ResponseOf } from '../../wire/api/kafka-apis.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { KafkaError, kafkaError, kindOf, toKafkaError } from '../cluster/kafka-error.ts'
import type { Nodes, RequestSource } from '../cluster/nodes.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'

/** What every producer is made of. */
export interface ProducerDeps {
  readonly cluster: Cluster
  readonly nodes: Nodes
  readonly runtime: Runtime
  /** Is called when the producer is over, so that whoever made it can forget it. */
  readonly ended?: () => void
}

/** Which request goes to whose coordinator. */
export interface CoordinatorCall<A extends KafkaApi> {
  readonly kind: CoordinatorKind
  readonly key: string
  readonly api: A
  readonly request: RequestSource<A>
  /** The codes of an answer: one, or one for each partition. */
  readonly codes: (response: ResponseOf<A>) => readonly number[]
}

/** How long to try, and what to tell. */
export interface CallBounds {
  /** For all attempts together. */
  readonly deadlineMs: number
  readonly requestTimeoutMs: number
  readonly signal: AbortSignal
  /** The coordinator may have acted on an attempt although it did not say so, or may still. */
  readonly onDoubt?: () => void
}

/** The coordinator is elsewhere, or was while it wrote down what we asked for: it may have been replicated all the same. */
const movedCodes: ReadonlySet<number> = new Set([errorCode.NOT_COORDINATOR, errorCode.COORDINATOR_NOT_AVAILABLE])

/**
 * Resolves with an answer that has no error. Rejects with the KafkaError of a refusal; at the deadline with UNKNOWN when
 * an attempt may have been acted on, else with RETRIABLE.
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
    // The markers of the transaction before are being written: a matter of milliseconds.
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

/** The code that decides: what cannot be helped before what may pass, and either before what was left undone for it. */
function worstOf(codes: readonly number[]): number {
  const failed = codes.filter((code) => code !== errorCode.NONE)
  const causes = failed.filter((code) => code !== errorCode.OPERATION_NOT_ATTEMPTED)
  return causes.find((code) => kindOf(code) !== 'RETRIABLE') ?? causes[0] ?? failed[0] ?? errorCode.NONE
}

import type { DeliveryContext } from '@waybill/connector'
import type { Runtime } from '@waybill/core'
import { func, isPlainObject, resolveOptions } from '@waybill/core/option'
import type { KafkaRecord } from '@waybill/kafka'
import { requireOptions } from '../require-argument.ts'
import { createSignal, type Signal, type SignalWait } from '../wait/signal.ts'
import { WaitDeadlineError } from '../wait/wait-deadline.ts'
import { deadlineRule, runtimeRule } from '../wait/wait-rules.ts'
import { describeSight } from './handler-sight.ts'

/** What these handlers look at of a delivery's context. */
export type HandlerContext = Pick<DeliveryContext, 'attempt' | 'tier' | 'original' | 'signal'>

/** One call of a handler. */
export interface HandlerCall extends Pick<HandlerContext, 'attempt' | 'tier' | 'original'> {
  readonly record: KafkaRecord
}

/**
 * A handler that writes down what it is called with. Fits as the `handler` of a binding. `C` is what its work needs of
 * the context.
 */
export interface RecordingHandler<C extends HandlerContext = HandlerContext> {
  (record: KafkaRecord, context: C): Promise<void>
  /** Every call, as it began. */
  readonly calls: readonly HandlerCall[]
  /** The calls that succeeded, as they ended. */
  readonly handled: readonly HandlerCall[]
  /** Values of what was handled, as text. */
  readonly values: readonly (string | null)[]
  /** Resolves when so many calls have succeeded, with the last of them. */
  wait(options?: SignalWait): Promise<HandlerCall>
  /** Resolves when so many calls have begun, with the last of them. */
  waitForCalls(options?: SignalWait): Promise<HandlerCall>
}

/** Options of {@link createRecordingHandler}. */
export interface RecordingHandlerOptions<C extends HandlerContext = HandlerContext> {
  /** What the handler does, for example the handler under test: it succeeds when this does. @defaultValue nothing */
  readonly work?: (record: KafkaRecord, context: C) => Promise<void> | void
  /** Is told of each call that succeeded. @defaultValue nobody */
  readonly onHandled?: (call: HandlerCall) => void
  /** Is told of each call that failed, and with what. @defaultValue nobody */
  readonly onFailed?: (call: HandlerCall, error: unknown) => void
  /** Of the waits that name no other. @defaultValue 10,000 */
  readonly deadlineMs?: number
  /** Of the waits. @defaultValue the system's */
  readonly runtime?: Runtime
}

const rules = {
  work: func<(record: KafkaRecord, context: never) => Promise<void> | void>({
    default: () => {},
    because: 'most tests look at the record only',
  }),
  onHandled: func<(call: HandlerCall) => void>({ default: () => {}, because: 'most tests look at `handled`' }),
  onFailed: func<(call: HandlerCall, error: unknown) => void>({
    default: () => {},
    because: 'most tests look at what became of the record',
  }),
  deadlineMs: deadlineRule,
  runtime: runtimeRule,
}

/** What there is to say of a `work` that is none. */
export const workIsCalled = 'It is called for each record: { work: (record, context) => … }.'

/** Makes a {@link RecordingHandler}. */
export function createRecordingHandler<C extends HandlerContext = HandlerContext>(
  options?: RecordingHandlerOptions<C>,
): RecordingHandler<C> {
  requireOptions('createRecordingHandler()', options, 'Write createRecordingHandler({ work: shipOrder }).')
  const resolved = resolveOptions('createRecordingHandler', rules, options)
  const { onHandled, onFailed, deadlineMs, runtime } = resolved
  // The rules know no type parameter, and what they answer is what was given.
  const work = resolved.work as NonNullable<RecordingHandlerOptions<C>['work']>
  const calls = createSignal<HandlerCall>('a call of the handler', { runtime })
  const handled = createSignal<HandlerCall>('a record that is handled', { runtime })
  const failures: unknown[] = []
  const handle = async (record: KafkaRecord, context: C): Promise<void> => {
    const { attempt, tier, original } = context
    const call: HandlerCall = { record, attempt, tier, original }
    calls.send(call)
    try {
      await work(record, context)
    } catch (error) {
      failures.push(error)
      onFailed(call, error)
      throw error
    }
    onHandled(call)
    handled.send(call)
  }
  const values = (): readonly (string | null)[] => handled.values.map(({ record }) => record.value?.toString() ?? null)
  const waitFor = async (signal: Signal<HandlerCall>, wait: SignalWait = {}): Promise<HandlerCall> => {
    try {
      // What is no object is left as it is, for the signal to refuse.
      return await signal.wait(isPlainObject(wait) ? { deadlineMs, ...wait } : wait)
    } catch (error) {
      if (!(error instanceof WaitDeadlineError)) throw error
      const seen = describeSight({ calls: calls.values.length, handled: values(), failures })
      throw new WaitDeadlineError(`${error.message} ${seen}`, failures.length === 0 ? {} : { cause: failures.at(-1) })
    }
  }
  return Object.defineProperties(handle, {
    calls: { value: calls.values },
    handled: { value: handled.values },
    values: { get: values },
    wait: { value: (wait?: SignalWait) => waitFor(handled, wait) },
    waitForCalls: { value: (wait?: SignalWait) => waitFor(calls, wait) },
  }) as RecordingHandler<C>
}

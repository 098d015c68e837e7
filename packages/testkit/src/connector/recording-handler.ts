import type { DeliveryContext } from '@waybill/connector'
import type { Runtime } from '@waybill/core'
import { func, isPlainObject, resolveOptions } from '@waybill/core/option'
import type { KafkaRecord } from '@waybill/kafka'
import { requireOptions } from '../require-argument.ts'
import { createSignal, type Signal, type SignalWait } from '../wait/signal.ts'
import { WaitDeadlineError } from '../wait/wait-deadline.ts'
import { deadlineRule, runtimeRule } from '../wait/wait-rules.ts'
import { describeSight } from './handler-sight.ts'

/** The part of a delivery context that test handlers use. */
export type HandlerContext = Pick<DeliveryContext, 'attempt' | 'tier' | 'original' | 'signal'>

/** One call of a handler. */
export interface HandlerCall extends Pick<HandlerContext, 'attempt' | 'tier' | 'original'> {
  readonly record: KafkaRecord
}

/** A handler that records its calls. Use it as the `handler` of a binding. `C` is the context that its work needs. */
export interface RecordingHandler<C extends HandlerContext = HandlerContext> {
  (record: KafkaRecord, context: C): Promise<void>
  /** All calls, in the order in which they began. */
  readonly calls: readonly HandlerCall[]
  /** Successful calls, in the order in which they ended. */
  readonly handled: readonly HandlerCall[]
  /** Values of the handled records, as strings. */
  readonly values: readonly (string | null)[]
  /** Resolves with the last call when `count` calls have succeeded. */
  wait(options?: SignalWait): Promise<HandlerCall>
  /** Resolves with the last call when `count` calls have begun. */
  waitForCalls(options?: SignalWait): Promise<HandlerCall>
}

/** Options of {@link createRecordingHandler}. */
export interface RecordingHandlerOptions<C extends HandlerContext = HandlerContext> {
  /** The handler's work, for example the handler under test: the call succeeds when this does. @defaultValue none */
  readonly work?: (record: KafkaRecord, context: C) => Promise<void> | void
  /** Called for each successful call. @defaultValue none */
  readonly onHandled?: (call: HandlerCall) => void
  /** Called for each failed call, with its error. @defaultValue none */
  readonly onFailed?: (call: HandlerCall, error: unknown) => void
  /** Deadline of waits without their own. @defaultValue 10,000 */
  readonly deadlineMs?: number
  /** Runtime of the waits. @defaultValue the system runtime */
  readonly runtime?: Runtime
}

const rules = {
  work: func<(record: KafkaRecord, context: never) => Promise<void> | void>({
    default: () => {},
    because: 'most tests only check the record',
  }),
  onHandled: func<(call: HandlerCall) => void>({ default: () => {}, because: 'most tests check `handled`' }),
  onFailed: func<(call: HandlerCall, error: unknown) => void>({
    default: () => {},
    because: 'most tests check the outcome of the record',
  }),
  deadlineMs: deadlineRule,
  runtime: runtimeRule,
}

/** The hint for a `work` that is not a function. */
export const workIsCalled = 'It is called for each record: { work: (record, context) => … }.'

/** Creates a {@link RecordingHandler}. */
export function createRecordingHandler<C extends HandlerContext = HandlerContext>(
  options?: RecordingHandlerOptions<C>,
): RecordingHandler<C> {
  requireOptions('createRecordingHandler()', options, 'Write createRecordingHandler({ work: shipOrder }).')
  const resolved = resolveOptions('createRecordingHandler', rules, options)
  const { onHandled, onFailed, deadlineMs, runtime } = resolved
  // The rules have no type parameter, and return the given value.
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
      // A value that is not an object is passed on, for the signal to refuse.
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

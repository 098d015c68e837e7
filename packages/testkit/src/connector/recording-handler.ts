import type { Runtime } from '@waybill/core'
import { func, resolveOptions } from '@waybill/core/option'
import type { DeliveryContext, KafkaRecord } from '@waybill/kafka'
import { createSignal, type SignalWait } from '../signal.ts'
import { runtimeRule } from '../wait-rules.ts'

/** What these handlers look at of a delivery's context. */
export type HandlerContext = Pick<DeliveryContext, 'attempt' | 'tier' | 'original' | 'signal'>

/** One call of a handler. */
export interface HandlerCall extends Pick<HandlerContext, 'attempt' | 'tier' | 'original'> {
  readonly record: KafkaRecord
}

/** A handler that writes down what it is called with. Fits as the `handler` of a binding. */
export interface RecordingHandler {
  (record: KafkaRecord, context: HandlerContext): Promise<void>
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
export interface RecordingHandlerOptions {
  /** What the handler does: it succeeds when this does. @defaultValue nothing */
  readonly work?: (record: KafkaRecord, context: HandlerContext) => Promise<void> | void
  /** Of the waits. @defaultValue the system's */
  readonly runtime?: Runtime
}

const rules = {
  work: func<NonNullable<RecordingHandlerOptions['work']>>({
    default: () => {},
    because: 'most tests look at the record only',
  }),
  runtime: runtimeRule,
}

/** Makes a {@link RecordingHandler}. */
export function createRecordingHandler(options?: RecordingHandlerOptions): RecordingHandler {
  const { work, runtime } = resolveOptions('createRecordingHandler', rules, options)
  const calls = createSignal<HandlerCall>('a call of the handler', { runtime })
  const handled = createSignal<HandlerCall>('a record that is handled', { runtime })
  const handle = async (record: KafkaRecord, context: HandlerContext): Promise<void> => {
    const { attempt, tier, original } = context
    const call: HandlerCall = { record, attempt, tier, original }
    calls.send(call)
    await work(record, context)
    handled.send(call)
  }
  return Object.defineProperties(handle, {
    calls: { value: calls.values },
    handled: { value: handled.values },
    values: { get: () => handled.values.map(({ record }) => record.value?.toString() ?? null) },
    wait: { value: (wait?: SignalWait) => handled.wait(wait) },
    waitForCalls: { value: (wait?: SignalWait) => calls.wait(wait) },
  }) as RecordingHandler
}

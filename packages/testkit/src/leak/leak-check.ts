import { AsyncLocalStorage } from 'node:async_hooks'
import type { EventEmitter } from 'node:events'
import { type Runtime, WaybillError } from '@waybill/core'
import { durationMs, instance, list, oneOf, resolveOptions } from '@waybill/core/option'
import { requireFunction } from '../require-argument.ts'
import { runtimeRule } from '../wait/wait-rules.ts'
import { type LeakedResource, type LeakKind, leakKinds } from './leaked-resource.ts'
import { watchListeners } from './listener-watch.ts'
import { ResourceWatch } from './resource-watch.ts'
import { ServiceWatch } from './service-watch.ts'

/** Options of {@link leakCheck}. */
export interface LeakCheckOptions {
  /** Kinds of things that may stay: `['SOCKET']` for a pool that keeps its connections. @defaultValue none */
  readonly allow?: readonly LeakKind[]
  /** Whose listeners are counted besides those of `process`. @defaultValue none */
  readonly emitters?: readonly (EventEmitter | AbortSignal)[]
  /**
   * How long sockets, servers and processes may take to close after the block has ended. Timers, listeners and services
   * get no time: whoever stops waits for them.
   *
   * @defaultValue 2,000
   */
  readonly deadlineMs?: number
  /** @defaultValue the system's */
  readonly runtime?: Runtime
}

/** A block of code left something behind. */
export class LeakError extends WaybillError {
  static override readonly code = 'WAYBILL_LEAK_FOUND'
  readonly leaks: readonly LeakedResource[]

  constructor(leaks: readonly LeakedResource[]) {
    const lines = leaks.map(({ what, where }) => `\n  ${what}${where === undefined ? '' : `, made ${where}`}`)
    super(`${leaks.length === 1 ? '1 thing is' : `${leaks.length} things are`} left behind:${lines.join('')}`)
    this.leaks = leaks
  }
}

const rules = {
  allow: list(oneOf(leakKinds), { default: [], because: 'a leak is a leak' }),
  emitters: list(
    instance<EventEmitter | AbortSignal>(
      'an EventEmitter or AbortSignal',
      (value) => value instanceof EventTarget || typeof (value as EventEmitter).eventNames === 'function',
    ),
    { default: [], because: 'every program has one process; which others matter only the test knows' },
  ),
  deadlineMs: durationMs({
    default: 2_000,
    because: 'closing a socket takes a few turns of the event loop, and many of them on a machine under load',
  }),
  runtime: runtimeRule,
}

/** Which check the running code belongs to, through all its callbacks and promises. */
const currentCheck = new AsyncLocalStorage<symbol>()

/**
 * Runs a block and answers what it answers, if it leaves no timer, socket, server, child process, worker, service or
 * listener behind. Only what the block itself makes counts, however many other things go on in the process; a timer
 * that does not keep the process alive counts like any other.
 *
 * @throws {@link LeakError} that says what is left and where it was made. A block that fails rejects with its own error.
 */
export async function leakCheck<T>(block: () => T | Promise<T>, options?: LeakCheckOptions): Promise<T> {
  requireFunction(
    'leakCheck()',
    'the block to run',
    block,
    'Write leakCheck(async () => { … }): only what the block makes counts.',
  )
  const { allow, emitters, deadlineMs, runtime } = resolveOptions('leakCheck', rules, options)
  const newListeners = watchListeners([process, ...emitters])
  const check = Symbol('leakCheck')
  const isInBlock = (): boolean => currentCheck.getStore() === check
  const resources = new ResourceWatch(isInBlock)
  const services = new ServiceWatch(isInBlock)
  try {
    const answer = await currentCheck.run(check, block)
    const left = await leftAfter(resources, deadlineMs, runtime)
    const leaks = [...left, ...services.leaks(), ...newListeners()].filter(({ kind }) => !allow.includes(kind))
    if (leaks.length > 0) throw new LeakError(leaks)
    return answer
  } finally {
    resources[Symbol.dispose]()
    services[Symbol.dispose]()
  }
}

/** What is still open once everything that needs time to close has had it. */
async function leftAfter(
  resources: ResourceWatch,
  deadlineMs: number,
  runtime: Runtime,
): Promise<readonly LeakedResource[]> {
  const endsAt = runtime.clock.monotonic() + deadlineMs
  for (;;) {
    await turnsOfTheLoop(10)
    const leaks = resources.leaks()
    const isClosing = leaks.some(({ kind }) => kind !== 'TIMER')
    if (!isClosing || runtime.clock.monotonic() >= endsAt) return leaks
    await runtime.timers.sleep(5)
  }
}

/** Node tells of the end of a resource one or two turns late. */
async function turnsOfTheLoop(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

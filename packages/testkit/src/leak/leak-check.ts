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
  /** Kinds of resources that may stay open: `['SOCKET']` for a pool that keeps its connections. @defaultValue none */
  readonly allow?: readonly LeakKind[]
  /** Emitters whose listeners are checked, besides `process`. @defaultValue none */
  readonly emitters?: readonly (EventEmitter | AbortSignal)[]
  /**
   * Time that sockets, servers and processes have to close after the block. Timers, listeners and services have none: a
   * stop waits for them.
   *
   * @defaultValue 2,000
   */
  readonly deadlineMs?: number
  /** @defaultValue the system runtime */
  readonly runtime?: Runtime
}

/** Reports resources that a block of code did not close. */
export class LeakError extends WaybillError {
  static override readonly code = 'WAYBILL_LEAK_FOUND'
  readonly leaks: readonly LeakedResource[]

  constructor(leaks: readonly LeakedResource[]) {
    const lines = leaks.map(({ what, where }) => `\n  ${what}${where === undefined ? '' : `, created ${where}`}`)
    super(`${leaks.length === 1 ? '1 resource is' : `${leaks.length} resources are`} left open:${lines.join('')}`)
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
    { default: [], because: 'only the test knows which emitters matter besides process' },
  ),
  deadlineMs: durationMs({
    default: 2_000,
    because: 'closing a socket takes a few turns of the event loop, and more on a machine under load',
  }),
  runtime: runtimeRule,
}

/** The check that the running code belongs to, through all its callbacks and promises. */
const currentCheck = new AsyncLocalStorage<symbol>()

/**
 * Runs a block and resolves with its result, unless it leaves a timer, socket, server, child process, worker, service
 * or listener open. Only resources created by the block count, whatever else runs in the process. A timer counts even
 * if it does not keep the process alive.
 *
 * @throws {@link LeakError} that names each open resource and where it was created. A block that fails rejects with its
 * own error.
 */
export async function leakCheck<T>(block: () => T | Promise<T>, options?: LeakCheckOptions): Promise<T> {
  requireFunction(
    'leakCheck()',
    'the block to run',
    block,
    'Write leakCheck(async () => { … }): only resources of the block count.',
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

/** Returns the resources that are still open after their time to close. */
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

/** Waits some turns: Node reports a destroyed resource one or two turns late. */
async function turnsOfTheLoop(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

import { syncBuiltinESMExports } from 'node:module'
import { StateError, WaybillError } from '@waybill/core'

/** Simulated code took time or chance from the machine, so its run cannot be repeated. */
export class RealTimeError extends WaybillError {
  static override readonly code = 'WAYBILL_REAL_TIME_USED'

  constructor(call: string) {
    super(`${call} was called during a simulation: the same seed would not give the same run again.`, {
      hint: 'Take time, timers and chance from the Runtime.',
    })
  }
}

/** Holds the machine's time and chance away until it is disposed. */
export interface RealTimeBan extends Disposable {
  /** The calls that were refused, in order. Code that swallows the error cannot hide that it called. */
  readonly refused: readonly string[]
}

type Refuse = (call: string) => never

/** Where time and chance come from: the object, how it is spelled, and the functions on it. */
function sources(): readonly (readonly [holder: object, called: string, names: readonly string[]])[] {
  const timers = ['setTimeout', 'setInterval', 'setImmediate']
  return [
    [globalThis, '', timers],
    [process.getBuiltinModule('node:timers'), 'timers.', timers],
    [process.getBuiltinModule('node:timers/promises'), 'timers/promises.', timers],
    [AbortSignal, 'AbortSignal.', ['timeout']],
    [Date, 'Date.', ['now']],
    [performance, 'performance.', ['now']],
    [process.hrtime, 'process.hrtime.', ['bigint']],
    [process, 'process.', ['hrtime', 'uptime']],
    [Math, 'Math.', ['random']],
    [crypto, 'crypto.', ['randomUUID', 'getRandomValues']],
    [process.getBuiltinModule('node:crypto'), 'crypto.', ['randomUUID', 'randomBytes', 'randomInt', 'randomFillSync']],
  ]
}

let isInForce = false

/**
 * Makes every function that gives out the machine's time or chance throw {@link RealTimeError}, for the whole process,
 * until the result is disposed: a program that calls one of them cannot be simulated. `new Date(ms)` works as always,
 * `new Date()` does not. What a module took out before, as in `const { now } = Date`, is out of reach.
 *
 * @throws StateError when it is already in force.
 */
export function forbidRealTime(): RealTimeBan {
  if (isInForce) throw new StateError('Real time is already forbidden: dispose the first ban before the next.')
  isInForce = true
  const refused: string[] = []
  const refuse: Refuse = (call) => {
    refused.push(call)
    throw new RealTimeError(call)
  }
  const restores = sources().flatMap(([holder, called, names]) =>
    names.map((name) => replace(holder, name, (former) => forbidCall(former, `${called}${name}()`, refuse))),
  )
  restores.push(replace(globalThis, 'Date', (former) => forbidCall(former, 'Date()', refuse)))
  syncBuiltinESMExports()
  return {
    refused,
    [Symbol.dispose]() {
      if (restores.length === 0) return
      for (const restore of restores.splice(0)) restore()
      syncBuiltinESMExports()
      isInForce = false
    },
  }
}

/** Changes a property and answers what puts the former one back. */
function replace(holder: object, name: string, change: (former: object) => object): () => void {
  const former = Object.getOwnPropertyDescriptor(holder, name)
  const value = change(Reflect.get(holder, name) as object)
  Object.defineProperty(holder, name, {
    value,
    configurable: true,
    writable: true,
    enumerable: former?.enumerable ?? true,
  })
  return () => {
    if (former === undefined) Reflect.deleteProperty(holder, name)
    else Object.defineProperty(holder, name, former)
  }
}

/** The function with everything on it, except that calling it, or making one of it without arguments, is refused. */
function forbidCall(target: object, call: string, refuse: Refuse): object {
  return new Proxy(target, {
    apply: () => refuse(call),
    construct: (constructor, given, newTarget) =>
      given.length === 0 ? refuse(`new ${call}`) : Reflect.construct(constructor as typeof Date, given, newTarget),
  })
}

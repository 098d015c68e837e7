import { onEngineEvent } from '@waybill/core'
import { type ServiceState } from '@waybill/core/internal'
import type { LeakedResource } from './leaked-resource.ts'

/** Tracks the services that a block of code starts and does not stop. */
export class ServiceWatch implements Disposable {
  /** States by service name, one per service of that name. */
  readonly #states = new Map<string, ServiceState[]>()
  readonly #events = onEngineEvent('service:state-changed', ({ service, from, to }) => this.#note(service, from, to))

  readonly #isInBlock: () => boolean

  constructor(isInBlock: () => boolean) {
    this.#isInBlock = isInBlock
  }

  leaks(): readonly LeakedResource[] {
    return [...this.#states].flatMap(([name, states]) =>
      states.map((state): LeakedResource => ({ kind: 'SERVICE', what: `the service ${name}, ${state}` })),
    )
  }

  [Symbol.dispose](): void {
    this.#events[Symbol.dispose]()
  }

  #note(name: string, from: ServiceState, to: ServiceState): void {
    const states = this.#states.get(name) ?? []
    const at = states.indexOf(from)
    // The block is not responsible for services started outside of it.
    if (at < 0 && (from !== 'CREATED' || !this.#isInBlock())) return
    states.splice(at < 0 ? states.length : at, 1, ...(hasEnded(to) ? [] : [to]))
    this.#states.set(name, states)
  }
}

function hasEnded(state: ServiceState): boolean {
  return state === 'STOPPED' || state === 'FAILED'
}

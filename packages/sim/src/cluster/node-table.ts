import { StateError } from '@waybill/core'
import type { NodeAddress } from '@waybill/kafka/wire'

/** The host of every simulated node; its port is its id. */
const host = 'sim'

/** Which nodes there are, and which of them are up. Ids are 1 to `count`. */
export class NodeTable {
  readonly ids: readonly number[]
  readonly #down = new Set<number>()

  constructor(count: number) {
    this.ids = Array.from({ length: count }, (_, index) => index + 1)
  }

  get up(): readonly number[] {
    return this.ids.filter((id) => !this.#down.has(id))
  }

  isUp(id: number): boolean {
    return this.ids.includes(id) && !this.#down.has(id)
  }

  /** @throws StateError for a node that does not exist. */
  setUp(id: number, isUp: boolean): void {
    this.assertExists(id)
    if (isUp) this.#down.delete(id)
    else this.#down.add(id)
  }

  /** @throws StateError for a node that does not exist. */
  assertExists(id: number): void {
    if (!this.ids.includes(id)) throw new StateError(`The simulated cluster has no node ${id}.`)
  }

  addressOf(id: number): NodeAddress {
    return { host, port: id }
  }

  /** The node that listens there; undefined when none does. */
  at(address: NodeAddress): number | undefined {
    return address.host === host && this.isUp(address.port) ? address.port : undefined
  }
}

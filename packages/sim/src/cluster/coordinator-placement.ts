import type { CoordinatorKind } from '@waybill/kafka/wire'
import type { NodeTable } from './node-table.ts'
import { noNode } from './topic-table.ts'

/** A group or a transactional id. */
export interface CoordinatorKey {
  readonly kind: CoordinatorKind
  readonly key: string
}

/**
 * Which node coordinates which group and transactional id: chosen by hash when first asked for, and kept until that node
 * goes down or a test moves it. A node that comes back does not take its keys back.
 */
export class CoordinatorPlacement {
  readonly #nodes: NodeTable
  readonly #placed = new Map<string, CoordinatorKey & { node: number }>()

  constructor(nodes: NodeTable) {
    this.#nodes = nodes
  }

  /** The node, or {@link noNode} while it is down and no other took over. */
  nodeOf(kind: CoordinatorKind, key: string): number {
    const name = `${kind} ${key}`
    let place = this.#placed.get(name)
    if (place === undefined) {
      const node = this.#choose(key)
      if (node === noNode) return noNode
      place = { kind, key, node }
      this.#placed.set(name, place)
    }
    return this.#nodes.isUp(place.node) ? place.node : noNode
  }

  move(kind: CoordinatorKind, key: string, node: number): void {
    this.#nodes.assertExists(node)
    this.#placed.set(`${kind} ${key}`, { kind, key, node })
  }

  /** Finds other nodes for what was on nodes that are down, and answers what moved. */
  moveFromDownNodes(): CoordinatorKey[] {
    const moved: CoordinatorKey[] = []
    for (const place of this.#placed.values()) {
      if (this.#nodes.isUp(place.node)) continue
      const node = this.#choose(place.key)
      if (node === noNode) continue
      place.node = node
      moved.push(place)
    }
    return moved
  }

  /** Everything a node coordinates. */
  keysOf(node: number): CoordinatorKey[] {
    return [...this.#placed.values()].filter((place) => place.node === node)
  }

  #choose(key: string): number {
    const { ids } = this.#nodes
    const first = hash(key) % ids.length
    for (let step = 0; step < ids.length; step++) {
      const node = ids[(first + step) % ids.length] as number
      if (this.#nodes.isUp(node)) return node
    }
    return noNode
  }
}

/** Java's hash of a text, which is how Kafka spreads coordinators. */
function hash(text: string): number {
  let value = 0
  for (let index = 0; index < text.length; index++) value = (Math.imul(31, value) + text.charCodeAt(index)) | 0
  return value & 0x7fffffff
}

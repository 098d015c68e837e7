import { UnavailableError } from '@waybill/core'
import { byGateway, type Delivery, type Presence } from './presence.ts'

/** The memory that the presences of one process share. */
export class PresenceMemory {
  readonly places = new Map<string, Set<string>>()
  readonly listeners = new Map<string, (delivery: Delivery) => void>()
  /** While it is true, every call fails, as it does while Redis is away. */
  isAway = false
}

/** A presence for workers in one process. */
export class MemoryPresence implements Presence {
  readonly #memory: PresenceMemory
  #gatewayId: string | undefined

  constructor(memory: PresenceMemory) {
    this.#memory = memory
  }

  async listen(gatewayId: string, receive: (delivery: Delivery) => void): Promise<void> {
    this.#gatewayId = gatewayId
    this.#reach().listeners.set(gatewayId, receive)
  }

  async join(userId: string, gatewayId: string): Promise<void> {
    const { places } = this.#reach()
    places.set(userId, (places.get(userId) ?? new Set()).add(gatewayId))
  }

  async leave(userId: string, gatewayId: string): Promise<void> {
    this.#reach().places.get(userId)?.delete(gatewayId)
  }

  async gatewaysOf(userIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const { places } = this.#reach()
    return byGateway(userIds.flatMap((userId) => [...(places.get(userId) ?? [])].map((id) => [userId, id] as const)))
  }

  async deliver(gatewayId: string, delivery: Delivery): Promise<boolean> {
    const receive = this.#reach().listeners.get(gatewayId)
    receive?.(delivery)
    return receive !== undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#gatewayId !== undefined) this.#memory.listeners.delete(this.#gatewayId)
  }

  #reach(): PresenceMemory {
    if (this.#memory.isAway) throw new UnavailableError('The presence is away.')
    return this.#memory
  }
}

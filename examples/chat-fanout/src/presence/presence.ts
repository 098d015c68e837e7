import type { WorkerFrame } from '../frames.ts'

/** A frame for users who are connected to one gateway. */
export interface Delivery {
  readonly userIds: readonly string[]
  readonly frame: WorkerFrame
}

/** Knows which gateway a user is connected to, and carries frames there. It keeps nothing that a sync could not restore. */
export interface Presence extends AsyncDisposable {
  /** Passes the deliveries of a gateway to `receive` until the presence is disposed. */
  listen(gatewayId: string, receive: (delivery: Delivery) => void): Promise<void>
  join(userId: string, gatewayId: string): Promise<void>
  leave(userId: string, gatewayId: string): Promise<void>
  /** Returns the users who are online, by gateway. */
  gatewaysOf(userIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
  /** Resolves to false if the gateway does not listen any more. */
  deliver(gatewayId: string, delivery: Delivery): Promise<boolean>
}

/** Groups users by gateway. */
export function byGateway(places: Iterable<readonly [userId: string, gatewayId: string]>): Map<string, string[]> {
  const users = new Map<string, string[]>()
  for (const [userId, gatewayId] of places) {
    const known = users.get(gatewayId)
    if (known === undefined) users.set(gatewayId, [userId])
    else known.push(userId)
  }
  return users
}

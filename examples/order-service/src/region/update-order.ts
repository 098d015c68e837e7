/** Which of two updates of an order from different regions wins. Pure, and the same on every node. */

/** When and where an update was made. */
export interface UpdateStamp {
  /** Epoch milliseconds at the region that made it; null where an old event tells none. */
  readonly occurredAt: number | null
  /** The version of the order; null or negative counts as 0. */
  readonly version: number | null
  readonly region: string
}

/**
 * Whether the incoming update applies: the later time wins, at the same time the higher version, and between equals the
 * region whose name is not smaller. This is an order of precedence, not of causes: it cannot tell which update knew of
 * the other.
 */
export function applies(incoming: UpdateStamp, current: UpdateStamp | null): boolean {
  if (current === null || incoming.occurredAt === null || current.occurredAt === null) return true
  if (incoming.occurredAt !== current.occurredAt) return incoming.occurredAt > current.occurredAt
  const [incomingCounter, currentCounter] = [counterOf(incoming), counterOf(current)]
  if (incomingCounter !== currentCounter) return incomingCounter > currentCounter
  return incoming.region >= current.region
}

function counterOf({ version }: UpdateStamp): number {
  return Math.max(0, version ?? 0)
}

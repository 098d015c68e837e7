/** The topic that all bindings read. */
export const sourceTopic = 'orders'
/** A second topic that some bindings read too. */
export const secondTopic = 'sales'

/** Returns true for a topic that events are first written to. */
export function isSource(topic: string): boolean {
  return topic === sourceTopic || topic === secondTopic
}

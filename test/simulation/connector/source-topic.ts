/** The topic that all bindings read. */
export const sourceTopic = 'orders'
/** The one that some of them read too. */
export const secondTopic = 'sales'

/** True for a topic that events are written to first. */
export function isSource(topic: string): boolean {
  return topic === sourceTopic || topic === secondTopic
}

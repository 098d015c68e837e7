/**
 * One text for a consumer and a key. The length stands in front, since either may contain whatever separates them: of
 * two different pairs none may be taken for the other.
 */
export function markName(consumer: string, key: string): string {
  return `${consumer.length}:${consumer}:${key}`
}

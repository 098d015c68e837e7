import type { OriginalPlace } from '@waybill/connector/internal'

/** Returns the name of a record: its original position, which stays the same in every tier and after a replay. */
export function placeName({ topic, partition, offset }: OriginalPlace): string {
  return `${topic}-${partition}@${offset}`
}

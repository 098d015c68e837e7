import type { OriginalPlace } from '@waybill/connector/internal'

/** A record is the same one in every tier, and after a replay: it is called after where it was first. */
export function placeName({ topic, partition, offset }: OriginalPlace): string {
  return `${topic}-${partition}@${offset}`
}

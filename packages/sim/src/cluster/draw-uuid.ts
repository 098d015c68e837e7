import type { Random } from '@waybill/core/internal'

/** A version 4 UUID out of the runtime's chance, as Kafka's topic and member ids are. */
export function drawUuid(random: Random): string {
  const words = Array.from({ length: 4 }, () => Math.floor(random() * 2 ** 32))
  const hex = words.map((word) => word.toString(16).padStart(8, '0')).join('')
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) & 3]
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}

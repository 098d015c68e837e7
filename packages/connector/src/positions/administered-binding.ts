import type { KafkaClient } from '@waybill/kafka'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'

/** A registered binding as operations on one of its topics need it, whether it runs or not. */
export interface AdministeredBinding {
  /** What operators call it: with its cluster where that is not the default one. */
  readonly label: string
  /** Of this topic. */
  readonly resolved: ResolvedBinding
  readonly client: KafkaClient
}

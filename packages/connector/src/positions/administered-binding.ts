import type { KafkaClient } from '@waybill/kafka'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'

/** A registered binding, running or not, for operations on one of its topics. */
export interface AdministeredBinding {
  /** The name for operators, with the cluster unless that is the default one. */
  readonly label: string
  /** The binding with the options of this topic. */
  readonly resolved: ResolvedBinding
  readonly client: KafkaClient
}

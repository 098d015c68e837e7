/** The names of a binding in metrics and reports. */

import type { MetricLabels } from '@waybill/core'
import { defaultCluster } from '../api/define-binding.ts'

/** The parts that name a binding. */
export interface BindingName {
  readonly name: string
  readonly cluster: string
}

/** Returns the name for operators: with the cluster unless that is the default one. */
export function bindingLabel({ name, cluster }: BindingName): string {
  return cluster === defaultCluster ? name : `${cluster}:${name}`
}

/** Returns the name and the cluster of a label for operators. */
export function namesOfLabel(label: string): BindingName {
  // The names of bindings contain no colon.
  const end = label.lastIndexOf(':')
  return end < 0
    ? { name: label, cluster: defaultCluster }
    : { name: label.slice(end + 1), cluster: label.slice(0, end) }
}

/** Returns the labels that all metrics of a binding have. */
export function bindingLabels({
  name,
  cluster,
}: BindingName): MetricLabels & Readonly<Record<'binding' | 'cluster', string>> {
  return { binding: name, cluster }
}

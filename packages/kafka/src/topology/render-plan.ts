import type { PlanStep, TopologyPlan } from './plan-topology.ts'

/** Renders a plan as text: `+` creates, `~` changes, `!` is refused, `?` needs a check. */
export function renderPlan({ steps, warnings }: TopologyPlan): string {
  const lines = [...steps.flatMap(linesOf), ...warnings.map(({ topic, problem }) => `? ${topic}: ${problem}`)]
  return [summaryOf(steps, warnings.length), ...lines.map((line) => `  ${line}`)].join('\n')
}

function summaryOf(steps: readonly PlanStep[], warnings: number): string {
  if (steps.length === 0 && warnings === 0) return 'The cluster is as declared.'
  const count = (...kinds: PlanStep['kind'][]): number => steps.filter(({ kind }) => kinds.includes(kind)).length
  const parts = [
    [count('CREATE'), 'to create'],
    [count('CONFIG_CHANGE'), 'to change'],
    [count('DIFFERENT_PARTITIONS', 'CONFIG_UNSAFE'), 'refused'],
    [count('REPLICATION_DIFFERS') + warnings, 'to check'],
  ]
  const counts = parts.flatMap(([number, what]) => (number === 0 ? [] : [`${number} ${what}`]))
  return `The cluster differs: ${counts.join(', ')}.`
}

function linesOf(step: PlanStep): string[] {
  const { topic } = step
  switch (step.kind) {
    case 'CREATE': {
      const { role, partitions, replication, configs } = step.declared
      const shape = `${role}, ${partitions} ${partitions === 1 ? 'partition' : 'partitions'}, replication ${replication}`
      return [`+ ${topic}: ${shape}`, ...[...configs].map(([name, value]) => `    ${name}=${value}`)]
    }
    case 'CONFIG_CHANGE':
      return [`~ ${topic}: ${step.config} ${step.from ?? 'unknown'} -> ${step.to}`]
    case 'CONFIG_UNSAFE': {
      const note = step.isMended ? ' (fixed by a change in this plan)' : ''
      return [`! ${topic}: ${step.config}${step.value === '' ? '' : ` ${step.value}`}: ${step.problem}${note}`]
    }
    case 'DIFFERENT_PARTITIONS':
      return [`! ${topic}: ${step.actual} partitions, declared ${step.declared}: ${step.problem}`]
    case 'REPLICATION_DIFFERS':
      return [`? ${topic}: replication ${step.actual}, declared ${step.declared}: move replicas with Kafka's own tools`]
  }
}

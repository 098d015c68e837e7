import type { JSX } from 'preact'
import { grouped, percent, rate } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { hrefOf } from '../../state/router.ts'
import { bindingText } from '../../text/binding.ts'
import type { FlowStage } from './flow.ts'

const box = { width: 148, height: 84, gap: 76, top: 28 } as const

/** The way of a record: source, retry tiers, dead letters. Screen readers have the table beside it. */
export function PipelinePicture({
  stages,
  binding,
}: {
  readonly stages: readonly FlowStage[]
  readonly binding: string
}): JSX.Element {
  const width = stages.length * box.width + Math.max(0, stages.length - 1) * box.gap + 2
  const height = box.top + box.height + 28
  return (
    <div class="pipeline-box">
      <svg class="pipeline" viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true">
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0 L8 4 L0 8 z" class="arrow-head" />
          </marker>
        </defs>
        {stages.map((stage, at) => (
          <Stage
            key={stage.topic ?? stage.kind}
            stage={stage}
            at={at}
            binding={binding}
            isLast={at === stages.length - 1}
          />
        ))}
      </svg>
    </div>
  )
}

function Stage({
  stage: { kind, delayMs, depth, handledPerSecond, okShare, failShare },
  at,
  binding,
  isLast,
}: {
  readonly stage: FlowStage
  readonly at: number
  readonly binding: string
  readonly isLast: boolean
}): JSX.Element {
  const x = 1 + at * (box.width + box.gap)
  const middle = box.top + box.height / 2
  const isDead = kind === 'DLT'
  const hasDead = isDead && depth !== null && depth !== '0'
  const body = (
    <>
      <text x={x} y={18} class="stage-title">
        {bindingText.stageTitle(kind, delayMs === null ? '' : duration(delayMs))}
      </text>
      <rect
        x={x}
        y={box.top}
        width={box.width}
        height={box.height}
        rx={4}
        class={`stage${hasDead ? ' stage-dead' : ''}`}
      />
      <text x={x + 12} y={box.top + 32} class={`stage-figure${hasDead ? ' tone-bad' : ''}`}>
        {depth === null ? '–' : grouped(depth)}
      </text>
      <text x={x + 12} y={box.top + 50} class="stage-unit">
        {kind === 'SOURCE' ? bindingText.lag : bindingText.depth}
      </text>
      {isDead ? null : (
        <text x={x + 12} y={box.top + 72} class="stage-rate">
          {rate(handledPerSecond)}
          <tspan class="stage-unit"> {bindingText.handled.toLowerCase()}</tspan>
        </text>
      )}
      {okShare === null ? null : (
        <text x={x} y={box.top + box.height + 18} class="stage-unit">
          {kind === 'TIER' ? bindingText.tierHelps(percent(okShare)) : `${percent(okShare)} ${bindingText.ok}`}
        </text>
      )}
    </>
  )
  return (
    <g>
      {isDead ? (
        <a href={hrefOf(['failures'], { binding })} tabindex={-1}>
          {body}
        </a>
      ) : (
        body
      )}
      {isLast ? null : (
        <>
          <line
            x1={x + box.width + 6}
            x2={x + box.width + box.gap - 6}
            y1={middle}
            y2={middle}
            class="arrow"
            marker-end="url(#arrow)"
          />
          <text x={x + box.width + box.gap / 2} y={middle - 8} class="stage-unit" text-anchor="middle">
            {failShare === null ? '' : percent(failShare)}
          </text>
        </>
      )}
    </g>
  )
}

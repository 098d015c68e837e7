import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Schemas } from '../../api/api-types.ts'
import { call } from '../../api/client.ts'
import { compareDigits, grouped, percent, rate } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { type Resource, useResource } from '../../state/resource.ts'
import { hrefOf } from '../../state/router.ts'
import { bindingText } from '../../text/binding.ts'
import { Chart } from '../../view/chart.tsx'
import { CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Figure } from '../../view/figures.tsx'
import { Section } from '../../view/page-head.tsx'
import { ResourceView } from '../../view/resource-view.tsx'
import { Table } from '../../view/table.tsx'
import { type FlowStage, flowOf, ratesOf, type SeriesPoint } from './flow.ts'
import { PipelinePicture } from './pipeline-picture.tsx'

const chartMs = 10_000

/** How records flow: the picture, its numbers, charts, and which errors there are. */
export function PipelineTab({
  binding,
  detail,
}: {
  readonly binding: string
  readonly detail: Resource<Schemas['BindingDetail']>
}): JSX.Element {
  const request = { params: { name: binding } }
  const pipeline = useResource((signal) => call('getPipeline', request, { signal }), [binding])
  return (
    <>
      <Section title={bindingText.pipeline} aside={<CopyCurl route="getPipeline" request={request} />}>
        <ResourceView resource={pipeline}>
          {({ stages, waiting }) => {
            const flow = flowOf(stages)
            if (!flow.some(({ kind }) => kind === 'SOURCE')) return <Empty title={bindingText.notStarted} />
            return (
              <>
                <PipelinePicture stages={flow} binding={binding} />
                {waiting > 0 ? <p>{bindingText.waiting(grouped(waiting))}</p> : null}
                <p class="muted small">
                  {bindingText.pipelineHint} {flow.some(({ kind }) => kind === 'TIER') ? '' : bindingText.noTiers}
                </p>
                <details>
                  <summary>{bindingText.asTable}</summary>
                  <StageTable stages={flow} binding={binding} />
                </details>
              </>
            )
          }}
        </ResourceView>
      </Section>
      <Charts binding={binding} />
      <ResourceView resource={detail}>
        {({ counters }) => <Errors binding={binding} counters={counters} />}
      </ResourceView>
    </>
  )
}

function StageTable({
  stages,
  binding,
}: {
  readonly stages: readonly FlowStage[]
  readonly binding: string
}): JSX.Element {
  return (
    <Table
      caption={bindingText.pipeline}
      rows={stages}
      keyOf={({ kind, tier, topic }) => `${kind} ${tier} ${topic}`}
      columns={[
        {
          id: 'stage',
          title: bindingText.stage,
          cell: ({ kind, delayMs }) =>
            kind === 'DLT' ? (
              <a href={hrefOf(['failures'], { binding })}>{bindingText.stageTitle(kind, '')}</a>
            ) : (
              bindingText.stageTitle(kind, delayMs === null ? '' : duration(delayMs))
            ),
        },
        { id: 'topic', title: bindingText.topic, cell: ({ topic }) => topic ?? '–' },
        { id: 'records', title: bindingText.records, align: 'end', cell: ({ depth }) => <Figure value={depth} /> },
        {
          id: 'handled',
          title: bindingText.handled,
          align: 'end',
          cell: ({ handledPerSecond }) => <Figure value={rate(handledPerSecond)} />,
        },
        {
          id: 'share',
          title: bindingText.share,
          align: 'end',
          cell: ({ okShare }) => <Figure value={okShare === null ? null : percent(okShare)} />,
        },
      ]}
    />
  )
}

function Charts({ binding }: { readonly binding: string }): JSX.Element {
  const series = useResource(
    async (signal) => {
      const read = async (metric: string): Promise<readonly SeriesPoint[]> =>
        (
          await call(
            'getSeries',
            { params: { name: binding }, query: { metric: metric as 'eventbus.consumer.lag' } },
            { signal },
          )
        ).points
      const [handled, failed, lag] = await Promise.all([
        read('eventbus.records.processed'),
        read('eventbus.records.failed'),
        read('eventbus.consumer.lag'),
      ])
      return { handled: ratesOf(handled), failed: ratesOf(failed), lag }
    },
    [binding],
    { everyMs: chartMs },
  )
  return (
    <ResourceView resource={series} rows={4}>
      {({ handled, failed, lag }) => <ChartPair handled={handled} failed={failed} lag={lag} />}
    </ResourceView>
  )
}

type Rates = ReturnType<typeof ratesOf>

function ChartPair({
  handled,
  failed,
  lag,
}: {
  readonly handled: Rates
  readonly failed: Rates
  readonly lag: readonly SeriesPoint[]
}): JSX.Element {
  const throughput = useMemo(() => {
    // A counter without failures has no points yet.
    const failedAt = new Map(failed.map(({ at, value }) => [at, value]))
    return {
      times: handled.map(({ at }) => at),
      series: [
        { label: bindingText.handledLine, tone: 'calm' as const, values: handled.map(({ value }) => value) },
        { label: bindingText.failedLine, tone: 'bad' as const, values: handled.map(({ at }) => failedAt.get(at) ?? 0) },
      ],
    }
  }, [handled, failed])
  const lagData = useMemo(
    () => ({
      times: lag.map(({ at }) => Date.parse(at)),
      series: [{ label: bindingText.lag, tone: 'warn' as const, values: lag.map(({ value }) => value) }],
    }),
    [lag],
  )
  return (
    <div class="chart-pair">
      <Chart title={bindingText.throughput} {...throughput} />
      <Chart title={bindingText.lagChart} {...lagData} />
    </div>
  )
}

function Errors({
  binding,
  counters,
}: {
  readonly binding: string
  readonly counters: Schemas['BindingDetail']['counters']
}): JSX.Element {
  const errors = Object.entries(counters.byException).toSorted(([, one], [, other]) => compareDigits(other, one))
  const skipped = Object.entries(counters.skipped).toSorted(([, one], [, other]) => compareDigits(other, one))
  return (
    <div class="chart-pair">
      <Section title={bindingText.errors}>
        <Table
          caption={bindingText.errors}
          rows={errors}
          keyOf={([name]) => name}
          empty={<p class="muted">{bindingText.noErrors}</p>}
          columns={[
            {
              id: 'error',
              title: bindingText.error,
              cell: ([name]) => <a href={hrefOf(['failures'], { binding, exception: name })}>{name}</a>,
            },
            { id: 'count', title: bindingText.count, align: 'end', cell: ([, count]) => <Figure value={count} /> },
          ]}
        />
      </Section>
      {skipped.length === 0 ? null : (
        <Section title={bindingText.skipped}>
          <Table
            caption={bindingText.skipped}
            rows={skipped}
            keyOf={([cause]) => cause}
            columns={[
              { id: 'cause', title: bindingText.cause, cell: ([cause]) => cause },
              { id: 'count', title: bindingText.count, align: 'end', cell: ([, count]) => <Figure value={count} /> },
            ]}
          />
        </Section>
      )}
    </div>
  )
}

import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { rate } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { useKeys } from '../../state/keys.ts'
import { live } from '../../state/live.ts'
import { sortParam, textParam, wordParam } from '../../state/query-codec.ts'
import { rateHistory } from '../../state/rate-history.ts'
import { hrefOf, open, urlState } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { overviewText } from '../../text/overview.ts'
import { ActionButton } from '../../view/action-button.tsx'
import { type BindingCommand, commandFor } from '../../view/command-dialog.tsx'
import { CopyButton, CopyCurl } from '../../view/copy-button.tsx'
import { Empty } from '../../view/empty.tsx'
import { Figure } from '../../view/figures.tsx'
import { Section } from '../../view/page-head.tsx'
import { Loading } from '../../view/resource-view.tsx'
import { Spark } from '../../view/spark.tsx'
import { StateChip } from '../../view/state-chip.tsx'
import { type Column, focusedRowKey, Table } from '../../view/table.tsx'
import { severityOf } from './severity.ts'
import { levelOf, type Reading } from './thresholds.ts'

type Binding = Schemas['Binding']
type Send = (command: BindingCommand, binding: string) => void

const { columns: titles } = overviewText
const states = ['', 'CREATED', 'RUNNING', 'PAUSED', 'STOPPED'] as const
const columnIds = ['severity', 'name', 'state', 'lag', 'age', 'rate', 'tiers', 'dead'] as const
const params = {
  q: textParam(),
  state: wordParam(states, ''),
  sort: sortParam(columnIds, { column: 'severity', isDescending: true }),
}

/** The bindings, the worst first. */
export function BindingTable({
  readings,
  onCommand,
}: {
  readonly readings: readonly Reading[]
  readonly onCommand: Send
}): JSX.Element {
  const url = urlState(params)
  const { q, state, sort } = url.value
  const bindings = live.items.binding.value
  useKeys(overviewText.keysTitle, [
    { keys: 'p', label: overviewText.keys.pause, run: () => toggle(focusedRowKey(), onCommand) },
    {
      keys: 'f',
      label: overviewText.keys.failures,
      run: () => {
        const key = focusedRowKey()
        if (key !== undefined) open(hrefOf(['failures'], { binding: key }))
      },
    },
  ])
  const all = [...(bindings?.values() ?? [])]
  const rows = all
    .filter((one) => one.key.toLowerCase().includes(q.toLowerCase()) || one.topics.some((topic) => topic.includes(q)))
    .filter((one) => state === '' || one.state === state)
    .toSorted((one, other) => severityOf(other) - severityOf(one) || one.key.localeCompare(other.key))
  return (
    <Section
      title={overviewText.bindings}
      aside={
        <>
          <input
            type="search"
            class="filter"
            aria-label={overviewText.filter}
            placeholder={overviewText.filterPlaceholder}
            value={q}
            onInput={(event) => url.set({ q: event.currentTarget.value })}
          />
          <select
            aria-label={titles.state}
            value={state}
            onChange={(event) => url.set({ state: event.currentTarget.value as (typeof states)[number] })}
          >
            {states.map((one) => (
              <option key={one} value={one}>
                {one === '' ? 'all states' : one}
              </option>
            ))}
          </select>
          <CopyCurl route="listBindings" request={{}} />
        </>
      }
    >
      {bindings === undefined ? (
        <Loading rows={4} />
      ) : (
        <Table
          caption={overviewText.bindings}
          hasKeys
          columns={columnsOf(readings, onCommand)}
          rows={rows}
          keyOf={({ key }) => key}
          // Their severity is the order of the rows already.
          sort={sort.column === 'severity' ? undefined : sort}
          onSort={(next) => url.set({ sort: next as typeof sort })}
          empty={all.length === 0 ? <NoBindings /> : <Empty title={overviewText.noMatch} />}
        />
      )}
    </Section>
  )
}

function columnsOf(readings: readonly Reading[], onCommand: Send): readonly Column<Binding>[] {
  return [
    {
      id: 'name',
      title: titles.name,
      sortBy: ({ key }) => key,
      cell: ({ key, topics, groupId }) => (
        <>
          <a href={hrefOf(['bindings', key])}>{key}</a>
          <div class="row-sub" title={`${topics.join(', ')} → group ${groupId}`}>
            {topics.join(', ')}
          </div>
        </>
      ),
    },
    {
      id: 'state',
      title: titles.state,
      sortBy: ({ state }) => state,
      cell: ({ state, pausedBy }) => (
        <StateChip state={state}>
          {pausedBy.length === 0 ? undefined : overviewText.pausedBy(pausedBy.join(', '))}
        </StateChip>
      ),
    },
    {
      id: 'lag',
      title: titles.lag,
      align: 'end',
      sortBy: ({ lag }) => lag.records,
      cell: (one) => <Figure value={one.lag.records} {...levelOf(readings, 'lagRecords', one)} />,
    },
    {
      id: 'age',
      title: titles.age,
      align: 'end',
      sortBy: ({ lag }) => lag.seconds,
      cell: (one) => (
        <Figure
          value={one.lag.seconds === null ? null : duration(one.lag.seconds * 1_000)}
          {...levelOf(readings, 'lagSeconds', one)}
        />
      ),
    },
    {
      id: 'rate',
      title: titles.rate,
      align: 'end',
      sortBy: ({ rates }) => rates.processedPerSecond,
      cell: ({ key, rates }) => (
        <span class="rate">
          <Figure value={rate(rates.processedPerSecond)} />
          <Spark values={rateHistory.value.get(key) ?? []} label={overviewText.rateOf(key)} />
        </span>
      ),
    },
    {
      id: 'tiers',
      title: titles.tiers,
      align: 'end',
      sortBy: ({ retrying }) => retrying,
      cell: ({ retrying }) => <Figure value={retrying} />,
    },
    {
      id: 'dead',
      title: titles.dead,
      align: 'end',
      sortBy: ({ dead }) => dead.depth,
      cell: ({ key, dead }) =>
        dead.depth === null || dead.depth === '0' ? (
          <Figure value={dead.depth} />
        ) : (
          <a href={hrefOf(['failures'], { binding: key })}>
            <Figure value={dead.depth} tone="bad" />
          </a>
        ),
    },
    { id: 'breaker', title: titles.breaker, cell: ({ breaker }) => <StateChip state={breaker.state} of="BREAKER" /> },
    {
      id: 'actions',
      title: titles.actions,
      className: 'row-actions',
      cell: (binding) => {
        const command = commandFor(binding)
        return (
          <ActionButton
            permit={may('bindings:operate', binding.key)}
            label={overviewText.rowAction(overviewText[command], binding.key)}
            onClick={() => onCommand(command, binding.key)}
          >
            {overviewText[command]}
          </ActionButton>
        )
      },
    },
  ]
}

function toggle(key: string | undefined, onCommand: Send): void {
  const binding = key === undefined ? undefined : live.items.binding.value?.get(key)
  if (binding !== undefined && may('bindings:operate', binding.key).isAllowed)
    onCommand(commandFor(binding), binding.key)
}

function NoBindings(): JSX.Element {
  return (
    <Empty title={overviewText.noBindings}>
      <p>{overviewText.noBindingsHint}</p>
      <pre class="payload">{overviewText.sample}</pre>
      <CopyButton text={overviewText.sample} label={overviewText.copySample}>
        {overviewText.copySample}
      </CopyButton>
    </Empty>
  )
}

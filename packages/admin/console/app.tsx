import { type ComponentType, type JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Problem, problemOf } from './api/problem.ts'
import { type PageModule, type PageProps, pages } from './page/pages.ts'
import { matchPattern } from './state/place.ts'
import { hrefOf, place } from './state/router.ts'
import { loadMe, me, meProblem } from './state/session.ts'
import { frameText } from './text/frame.ts'
import { Empty } from './view/empty.tsx'
import { Frame } from './view/frame.tsx'
import { PageHead } from './view/page-head.tsx'
import { ProblemView } from './view/problem-view.tsx'
import { Loading } from './view/resource-view.tsx'

/** The console. */
export function App(): JSX.Element {
  return (
    <Frame>
      <Current />
    </Frame>
  )
}

function Current(): JSX.Element {
  const { segments } = place.value
  if (me.value === undefined && meProblem.value !== undefined)
    return (
      <>
        <PageHead title={frameText.meFailed} />
        <ProblemView problem={meProblem.value} onRetry={() => void loadMe()} />
      </>
    )
  for (const { pattern, load } of pages) {
    const params = matchPattern(pattern, segments)
    // Another letter or binding is another page: nothing of the one before is shown.
    if (params !== undefined) return <Lazy key={pattern + JSON.stringify(params)} load={load} params={params} />
  }
  return (
    <>
      <PageHead title={frameText.notFound} />
      <Empty title={frameText.notFoundHint}>
        <a href={hrefOf([])}>{frameText.toOverview}</a>
      </Empty>
    </>
  )
}

const loaded = new Map<() => Promise<PageModule>, ComponentType<PageProps>>()

function Lazy({
  load,
  params,
}: {
  readonly load: () => Promise<PageModule>
  readonly params: PageProps['params']
}): JSX.Element {
  const [Page, setPage] = useState<ComponentType<PageProps> | undefined>(() => loaded.get(load))
  const [problem, setProblem] = useState<Problem | undefined>(undefined)
  useEffect(() => {
    if (Page !== undefined) return
    const open = async (): Promise<void> => {
      try {
        const module = await load()
        loaded.set(load, module.default)
        setPage(() => module.default)
      } catch (error) {
        // A new version of the server has other files.
        setProblem({ ...problemOf(error), title: frameText.pageFailed, hint: undefined })
      }
    }
    void open()
  }, [])
  if (problem !== undefined) return <ProblemView problem={problem} onRetry={() => location.reload()} />
  return Page === undefined || me.value === undefined ? <Loading rows={6} /> : <Page params={params} />
}

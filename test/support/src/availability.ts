import type { ServiceName } from '@waybill/services'

/** The state of a service for the tests of a run, determined once before the first test. */
export type Availability =
  | {
      readonly state: 'PRESENT'
      readonly url: string
      readonly version: string
      /** FOUND for a service that was already running. */
      readonly origin: 'FOUND' | 'STARTED_FOR_THIS_RUN'
    }
  | { readonly state: 'ABSENT'; readonly reason: string }

/** The services of one kind that a run can use. */
export interface ServiceInRun {
  /** The service that all test files share. */
  readonly shared: Availability
  /** The reason a test cannot start a private one; undefined if it can. */
  readonly obstacle?: string
  /** True when WAYBILL_REQUIRE names it. */
  readonly isRequired: boolean
}

/** Every service, by name. */
export type ServicesInRun = Readonly<Record<ServiceName, ServiceInRun>>

/** Services that the tests of a suite use. The reporter reads them from the metadata of the tests. */
export interface ServicesInUse {
  readonly shared?: readonly ServiceName[]
  readonly own?: readonly ServiceName[]
}

declare module 'vitest' {
  interface ProvidedContext {
    services: ServicesInRun
  }
  interface TaskMeta {
    services?: ServicesInUse
  }
}

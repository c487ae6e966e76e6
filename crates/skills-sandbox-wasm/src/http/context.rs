//! The HTTP state of one run.

use std::sync::Arc;

use http::{Request, Response};
use skills_egress::{Connector, ProxySummary};
use skills_policy::HostFilter;
use tokio::sync::watch;
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::{
    Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView,
    WasiHttpHooks,
};

use super::client::Client;
use super::exchange::ConnectionDriver;
use super::limits::HttpLimits;
use super::outgoing::is_forbidden_header;
use super::tls_config::TlsConfig;

/// The maximum number of bytes of a request body that are buffered in the host.
const CHUNK_BYTES: usize = 64 * 1024;
/// Headers take more memory than their bytes; beyond this multiple the engine rejects them before
/// they are counted.
const FIELDS_PER_HEAD: usize = 4;

type SendFuture =
    Box<dyn Future<Output = Result<(Response<WasiBody>, ConnectionDriver), Error>> + Send>;

/// HTTP state of one run. Dropping it closes all connections, even if other tasks hold handles to
/// them.
pub(crate) struct HttpContext {
    ctx: WasiHttpCtx,
    hooks: Hooks,
}

struct Hooks {
    /// `None` if no host is granted.
    client: Option<Arc<Client>>,
    shutdown: watch::Sender<()>,
}

impl HttpContext {
    /// Creates the HTTP state of one run. An empty list rejects every request.
    pub(crate) fn new(
        hosts: &HostFilter,
        outside: Arc<dyn Connector>,
        trust: &TlsConfig,
        limits: HttpLimits,
    ) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(
            limits
                .connections
                .max_head_bytes
                .saturating_mul(FIELDS_PER_HEAD),
        );
        let client = Arc::new(Client::new(hosts.clone(), outside, trust.clone(), limits));
        Self {
            ctx: context,
            hooks: Hooks {
                client: Some(client),
                // Dropped with this state, which ends requests in other tasks.
                shutdown: watch::Sender::new(()),
            },
        }
    }

    /// Creates a state that rejects every request.
    pub(crate) fn without_hosts() -> Self {
        Self {
            ctx: WasiHttpCtx::new(),
            hooks: Hooks {
                client: None,
                shutdown: watch::Sender::new(()),
            },
        }
    }

    /// Returns the summary of all requests so far; `None` if no host is granted.
    pub(crate) fn summary(&self) -> Option<ProxySummary> {
        Some(self.hooks.client.as_ref()?.log().summary())
    }

    /// Returns the view for the engine.
    pub(crate) fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView {
            hooks: &mut self.hooks,
            table,
            ctx: &mut self.ctx,
        }
    }
}

impl WasiHttpHooks for Hooks {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_forbidden_header)
    }

    /// The field is set when the request is sent, from the host that is connected to.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK_BYTES
    }

    #[cfg(feature = "wasi-p3")]
    fn p3_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK_BYTES
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> SendFuture {
        let client = self.client.clone();
        let leash = self.shutdown.subscribe();
        Box::new(async move {
            let client = client.ok_or(Error::HttpRequestDenied)?;
            let (response, driving) = until_shutdown(
                leash.clone(),
                client.send(request, options.unwrap_or_default()),
            )
            .await?;
            let driving: ConnectionDriver = Box::new(until_shutdown(leash, Box::into_pin(driving)));
            Ok((response, driving))
        })
    }
}

/// Polls until the run is over. The engine stops its own tasks too, but a WASI 0.3 task may hold
/// the handle that would stop it.
async fn until_shutdown<T>(
    mut leash: watch::Receiver<()>,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::select! {
        result = work => result,
        // Nothing is ever sent; this ends when the sender is dropped.
        _ = leash.changed() => Err(Error::ConnectionTerminated),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::pin::Pin;
    use std::time::Duration;

    use http_body_util::{BodyExt, Empty};
    use skills_policy::{
        Authorization, Effect, NetworkGrant, Policy, Request as Wish, Rule, RuleSource,
    };
    use tokio::net::TcpStream;
    use tokio::sync::Notify;
    use tokio::time::timeout;

    use super::*;

    /// A connector that never answers, and reports when it was called.
    struct Silence(Notify);

    impl Connector for Silence {
        fn resolve<'a>(
            &'a self,
            _: &'a str,
            _: u16,
        ) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<SocketAddr>>> + Send + 'a>> {
            self.0.notify_one();
            Box::pin(std::future::pending())
        }

        fn connect(
            &self,
            _: SocketAddr,
        ) -> Pin<Box<dyn Future<Output = std::io::Result<TcpStream>> + Send + '_>> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test]
    async fn pending_requests_end_with_their_context() {
        let rules = Policy::default().with_rules([Rule::parse(
            Effect::Allow,
            RuleSource::User,
            "network:a.example",
        )
        .unwrap()]);
        let Authorization::Granted(grants) =
            rules.authorize(&Wish::new("/s").allowed_tool("WebSearch", None))
        else {
            panic!("granted")
        };
        let NetworkGrant::Hosts(hosts) = grants.network() else {
            panic!("hosts")
        };
        let outside = Arc::new(Silence(Notify::new()));
        let mut gate = HttpContext::new(
            hosts,
            outside.clone(),
            &TlsConfig::with_public_roots().unwrap(),
            HttpLimits::default(),
        );
        let body = Empty::new().map_err(Error::from).boxed_unsync();
        let request = Request::get("http://a.example/").body(body).unwrap();
        let sending = Box::into_pin(gate.hooks.send_request(
            request,
            None,
            Box::new(async { Ok(()) }),
        ));
        let held =
            tokio::spawn(async move { sending.await.map(|(response, _)| response.status()) });
        outside.0.notified().await;
        drop(gate);
        let ended = timeout(Duration::from_secs(30), held)
            .await
            .unwrap()
            .unwrap();
        assert!(
            matches!(ended, Err(Error::ConnectionTerminated)),
            "{ended:?}"
        );
    }
}

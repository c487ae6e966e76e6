//! A guest of WASI 0.3 that sends requests as its arguments say, for the tests of the sandbox: `SCHEME AUTHORITY PATH [KEY=VALUE]…`.

use futures_util::{FutureExt, future};
use wasip3::http::client;
use wasip3::http::types::{ErrorCode, Fields, Method, Request, RequestOptions, Response, Scheme};
use wasip3::{wit_future, wit_stream};

struct Fetch;

wasip3::cli::command::export!(Fetch);

#[derive(Default)]
struct Plan {
    scheme: String,
    authority: String,
    path: String,
    method: Option<String>,
    headers: Vec<(String, String)>,
    body_bytes: usize,
    times: usize,
    connect_ms: Option<u64>,
    between_ms: Option<u64>,
    first_ms: Option<u64>,
    hangs: bool,
}

impl wasip3::exports::cli::run::Guest for Fetch {
    async fn run() -> Result<(), ()> {
        let plan = Plan::parse(std::env::args().skip(1));
        for _ in 0..plan.times {
            match fetch(&plan).await {
                Ok(line) | Err(line) => println!("{line}"),
            }
        }
        Ok(())
    }
}

impl Plan {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut word = || arguments.next().expect("an argument");
        let mut plan = Self { scheme: word(), authority: word(), path: word(), times: 1, ..Self::default() };
        for argument in arguments {
            let (key, value) = argument.split_once('=').expect("a key and a value");
            let number = || value.parse().expect("a number");
            match key {
                "method" => plan.method = Some(value.to_owned()),
                "header" => plan.headers.extend(value.split_once(':').map(|(name, value)| (name.to_owned(), value.to_owned()))),
                "body" => plan.body_bytes = number() as usize,
                "times" => plan.times = number() as usize,
                "connect" => plan.connect_ms = Some(number()),
                "first" => plan.first_ms = Some(number()),
                "between" => plan.between_ms = Some(number()),
                "hang" => plan.hangs = true,
                other => panic!("no key {other}"),
            }
        }
        plan
    }

    fn scheme(&self) -> Option<Scheme> {
        match self.scheme.as_str() {
            "" => None,
            "http" => Some(Scheme::Http),
            "https" => Some(Scheme::Https),
            other => Some(Scheme::Other(other.to_owned())),
        }
    }

    fn options(&self) -> RequestOptions {
        let options = RequestOptions::new();
        let nanoseconds = |milliseconds: Option<u64>| milliseconds.map(|number| number * 1_000_000);
        options.set_connect_timeout(nanoseconds(self.connect_ms)).expect("connect");
        options.set_first_byte_timeout(nanoseconds(self.first_ms)).expect("first byte");
        options.set_between_bytes_timeout(nanoseconds(self.between_ms)).expect("between bytes");
        options
    }
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "CONNECT" => Method::Connect,
        "TRACE" => Method::Trace,
        other => Method::Other(other.to_owned()),
    }
}

async fn fetch(plan: &Plan) -> Result<String, String> {
    let fields = Fields::new();
    for (name, value) in &plan.headers {
        fields.append(name, value.as_bytes()).map_err(|error| format!("field: {error:?}"))?;
    }
    let (mut writer, contents) = wit_stream::new();
    let (_, trailers) = wit_future::new(|| Ok(None));
    let contents = (plan.body_bytes > 0).then_some(contents);
    let (request, sent) = Request::new(fields, contents, trailers, Some(plan.options()));
    let name = plan.method.as_deref().unwrap_or(if plan.body_bytes > 0 { "POST" } else { "GET" });
    request.set_method(&method(name)).map_err(|()| "method")?;
    request.set_scheme(plan.scheme().as_ref()).map_err(|()| "scheme")?;
    request.set_authority(Some(&plan.authority)).map_err(|()| "authority")?;
    request.set_path_with_query(Some(&plan.path)).map_err(|()| "path")?;
    let body = vec![b'x'; plan.body_bytes];
    let write = async move {
        // What is left over was not wanted; the answer says why.
        writer.write_all(body).await;
    };
    let mut sent = Box::pin(sent.into_future().fuse());
    let answer = async {
        let response = client::send(request).await.map_err(told)?;
        if plan.hangs {
            println!("hangs");
            future::pending::<()>().await;
        }
        read(response).await
    };
    let (answer, ()) = future::join(answer, write).await;
    // An error of the request says more than that of its answer.
    match sent.as_mut().now_or_never() {
        Some(Err(code)) => Err(told(code)),
        _ => answer,
    }
}

async fn read(response: Response) -> Result<String, String> {
    let status = response.get_status_code();
    let fields = response.get_headers().copy_all();
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(value))).collect();
    let (_, processed) = wit_future::new(|| Ok(()));
    let (stream, trailers) = Response::consume_body(response, processed);
    let text = String::from_utf8_lossy(&stream.collect().await).into_owned();
    trailers.await.map_err(|code| format!("after {} bytes: {}", text.len(), told(code)))?;
    let shown = text.get(..80).unwrap_or(&text);
    Ok(format!("{status} [{}] {} {shown:?}", fields.join(" "), text.len()))
}

fn told(code: ErrorCode) -> String {
    format!("{code:?}").trim_start_matches("ErrorCode::").to_owned()
}
